"""Side-by-side runs on real data; each prints its ratios."""
