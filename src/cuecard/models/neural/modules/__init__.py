"""Torch modules; importing any of them imports torch."""
