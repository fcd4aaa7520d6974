"""Pure functions on arrays: the statistics of every audit, probe and remedy."""
