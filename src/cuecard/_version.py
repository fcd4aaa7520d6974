"""The version of the package and of the card it writes."""

__version__ = "0.1.0"
