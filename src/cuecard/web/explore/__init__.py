"""What pages read of a card: its tables, its texts and its charts, prepared once so that only rows travel."""
