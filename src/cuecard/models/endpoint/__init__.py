"""Language models behind a chat endpoint, and the answers they gave."""
