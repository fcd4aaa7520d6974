"""Instances become named binary features, one family per file."""

from cuecard.features.counts import COUNTED_SPLITS, CueCounts, class_codes, count_cues
from cuecard.features.family import FAMILIES, CountingFamily, Family, FeatureCounts, Presence, count_features
from cuecard.features.word import Words

__all__ = [
    "COUNTED_SPLITS",
    "FAMILIES",
    "CountingFamily",
    "CueCounts",
    "Family",
    "FeatureCounts",
    "Presence",
    "Words",
    "class_codes",
    "count_cues",
    "count_features",
]
