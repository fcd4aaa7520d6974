"""What is particular to a language: its frequent words, its nouns."""
