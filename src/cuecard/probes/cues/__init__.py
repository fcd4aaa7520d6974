"""The cues that models are probed for, and the test examples that have them."""
