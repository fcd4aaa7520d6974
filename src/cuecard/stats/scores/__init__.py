"""How good predictions are: rank, log score, accuracy without a leak, intervals of cross-fits."""
