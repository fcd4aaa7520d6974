"""Train a model on a dataset, into a folder."""
