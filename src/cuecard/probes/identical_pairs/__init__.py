"""Sentences paired with themselves: a model's score against the sentence's frequency."""

from cuecard.probes.identical_pairs.pairs import box_statistics, identical_pairs, score_identical_pairs
from cuecard.probes.identical_pairs.probe import IdenticalPairTest
from cuecard.probes.identical_pairs.scores import identical_scores, matching_label

__all__ = [
    "IdenticalPairTest",
    "box_statistics",
    "identical_pairs",
    "identical_scores",
    "matching_label",
    "score_identical_pairs",
]
