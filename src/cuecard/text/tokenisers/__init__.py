"""Texts are cut into tokens, each by a named rule."""
