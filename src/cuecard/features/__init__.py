"""Instances become named binary features, one family per file."""

from cuecard.features.counts import COUNTED_SPLITS, CueCounts, class_codes, count_cues
from cuecard.features.family import (
    FAMILIES,
    CountingFamily,
    Family,
    FeatureCounts,
    LearningFamily,
    Presence,
    count_features,
    family_named,
    learned,
)
from cuecard.features.raw_text import Characters, Formats, Function, PremiseCharacters, Regexes
from cuecard.features.structure import Lengths, Overlap, Positions
from cuecard.features.words import (
    Bigrams,
    Entities,
    FourGrams,
    Negation,
    Sentiment,
    Tense,
    Trigrams,
    Typos,
    Words,
)

_BUILT_IN: tuple[type[Family], ...] = (
    Words, Bigrams, Trigrams, FourGrams, Negation, Sentiment, Tense, Entities, Typos,
    Overlap, Lengths, Positions, Formats, Characters, PremiseCharacters,
)  # fmt: skip
for _family in _BUILT_IN:
    FAMILIES.add(_family.name, _family)

FAMILIES.declare("concept", "cuecard.models.discovered_concepts:ConceptFamily")
FAMILIES.declare("spelling", "cuecard.features.spelling:Corrections")

#: Families that are only looked at when they are named: they cost much and rarely add to the others, or need a place to
#: be read from.
ON_REQUEST = frozenset({"trigram", "4-gram", "concept", "spelling"})

__all__ = [
    "COUNTED_SPLITS",
    "FAMILIES",
    "ON_REQUEST",
    "Bigrams",
    "Characters",
    "CountingFamily",
    "CueCounts",
    "Entities",
    "Family",
    "FeatureCounts",
    "Formats",
    "FourGrams",
    "Function",
    "LearningFamily",
    "Lengths",
    "Negation",
    "Overlap",
    "Positions",
    "PremiseCharacters",
    "Presence",
    "Regexes",
    "Sentiment",
    "Tense",
    "Trigrams",
    "Typos",
    "Words",
    "class_codes",
    "count_cues",
    "count_features",
    "family_named",
    "learned",
]
