"""Pages that open offline, and a piece of one for notebooks."""
