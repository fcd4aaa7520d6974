"""Views of the sections about data."""
