"""Benchmark scores net of the leak: what is left of an accuracy where no blind rule helps."""

from cuecard.probes.net_scores.probe import NetScores

__all__ = ["NetScores"]
