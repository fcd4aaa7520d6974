"""Where it runs: map partitions, merge summaries."""
