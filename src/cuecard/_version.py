"""The version of the package and of the card it writes."""

__version__ = "0.2.0"
