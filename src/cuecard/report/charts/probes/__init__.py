"""Charts of the sections about models."""
