"""Where in the data does a shortcut work? Every blind rule and partial input on every value of every extra column."""

from cuecard.audits.slices.audit import Slices

__all__ = ["Slices"]
