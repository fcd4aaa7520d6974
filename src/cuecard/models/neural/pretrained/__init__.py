"""Hugging Face checkpoints: found, loaded and fine-tuned."""
