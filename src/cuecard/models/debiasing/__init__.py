"""Models that are kept from using cues: what cues alone predict, and ways to train without it."""
