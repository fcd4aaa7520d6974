"""The result: the card, its files and its schema."""
