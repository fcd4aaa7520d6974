"""Weights that balance lexical features."""
