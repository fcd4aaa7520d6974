"""Texts become vectors."""
