"""Views of the sections about models."""
