"""Which tokens matter to a model, and whether two models look at the same ones."""
