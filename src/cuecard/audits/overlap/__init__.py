"""Does a corpus contain the texts of a benchmark? Exact n-gram overlap, and the order test for log-probabilities."""

from cuecard.audits.overlap.audit import Overlap

__all__ = ["Overlap"]
