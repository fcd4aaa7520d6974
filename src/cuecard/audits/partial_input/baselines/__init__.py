"""Every baseline that should not be enough, and how good it is."""
