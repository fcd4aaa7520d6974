"""Clusters and labels: PECO, its null, divergences."""
