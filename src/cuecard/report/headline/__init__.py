"""The first sentence about a card."""
