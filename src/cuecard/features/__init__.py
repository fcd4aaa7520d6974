"""Instances become named binary features, one family per file."""

from cuecard.features.family import FAMILIES, Family, Presence

__all__ = ["FAMILIES", "Family", "Presence"]
