"""Statistical tests of a model's answers, one per file."""
