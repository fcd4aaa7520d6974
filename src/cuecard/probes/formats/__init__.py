"""Where predictions come from, one file per format."""
