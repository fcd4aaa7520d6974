"""Views of the sections about weights."""
