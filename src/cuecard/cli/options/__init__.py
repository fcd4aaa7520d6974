"""The options of the verbs, each declared once."""
