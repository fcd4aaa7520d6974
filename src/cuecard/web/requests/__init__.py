"""What a request may be: who sends it, what it holds, which places it names, and the files it uploads."""
