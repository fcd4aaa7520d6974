"""What a trained model predicts from partial input."""
