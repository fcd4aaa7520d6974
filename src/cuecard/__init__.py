"""CueCard finds what gives the answer away."""
