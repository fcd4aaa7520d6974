"""Cues that nobody named: concepts found on one half of the units and tested on the other, like words."""

from cuecard.audits.concepts.audit import Concepts

__all__ = ["Concepts"]
