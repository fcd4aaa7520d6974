"""Which analyses run, with which parameters, and whether they have what they need."""
