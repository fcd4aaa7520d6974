"""What in the data gives the answer away? One question per file."""
