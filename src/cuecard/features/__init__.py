"""Instances become named binary features, one family per file."""

from cuecard.features.counts import COUNTED_SPLITS, CueCounts, class_codes, count_cues
from cuecard.features.custom import Function, Regexes
from cuecard.features.family import (
    FAMILIES,
    CountingFamily,
    Family,
    FeatureCounts,
    LearningFamily,
    Presence,
    count_features,
)
from cuecard.features.format import Formats
from cuecard.features.length import Lengths
from cuecard.features.overlap import Overlap
from cuecard.features.position import Positions
from cuecard.features.word import Words

for _family in (Words, Overlap, Lengths, Positions, Formats):
    FAMILIES.add(_family.name, _family)

__all__ = [
    "COUNTED_SPLITS",
    "FAMILIES",
    "CountingFamily",
    "CueCounts",
    "Family",
    "FeatureCounts",
    "Formats",
    "Function",
    "LearningFamily",
    "Lengths",
    "Overlap",
    "Positions",
    "Presence",
    "Regexes",
    "Words",
    "class_codes",
    "count_cues",
    "count_features",
]
