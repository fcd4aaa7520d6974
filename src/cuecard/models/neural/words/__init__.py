"""Models trained from scratch on sequences of words."""
