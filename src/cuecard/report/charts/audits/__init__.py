"""Charts of the sections about data."""
