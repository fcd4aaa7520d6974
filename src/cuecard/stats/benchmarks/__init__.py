"""Many models on one benchmark: differences, reliability, and keys that may be wrong."""
