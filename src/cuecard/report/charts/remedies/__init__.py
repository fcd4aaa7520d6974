"""Charts of the sections about weights."""
