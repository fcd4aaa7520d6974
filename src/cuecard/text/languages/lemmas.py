"""Noun lemmas by rule: the singular a word would have if it were a plural noun.

ICQ used WordNet's noun lemmas, which read every word as a noun ("does" is `doe`) and accept only singulars
that are in WordNet. These rules need no dictionary: they detach the same endings, know the common
exceptions, and leave words of three letters alone. They differ where only a dictionary can tell: WordNet
also turns "was" into `wa`, "has" into `ha` and "us" into `u` (all of them entries), and keeps names such as
"Wales", which become `wale` here.
"""

from __future__ import annotations

import re

import polars as pl

from cuecard.text.languages.stopwords import word_set
from cuecard.text.tokens import Tokens

#: Endings of plurals and of the singular, the first that fits; an ending that stays protects its word.
_ENDINGS = (
    ("ss", "ss"),
    ("us", "us"),
    ("is", "is"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("tzes", "tz"),
    ("ies", "y"),
    ("oes", "o"),
    ("men", "man"),
    ("s", ""),
)

_IRREGULAR = {
    "aches": "ache",
    "analyses": "analysis",
    "avalanches": "avalanche",
    "bacteria": "bacterium",
    "bonuses": "bonus",
    "buses": "bus",
    "caches": "cache",
    "calves": "calf",
    "campuses": "campus",
    "canoes": "canoe",
    "children": "child",
    "circuses": "circus",
    "crises": "crisis",
    "criteria": "criterion",
    "dies": "die",
    "does": "doe",
    "feet": "foot",
    "foes": "foe",
    "gases": "gas",
    "geese": "goose",
    "goes": "go",
    "halves": "half",
    "headaches": "headache",
    "hypotheses": "hypothesis",
    "knives": "knife",
    "leaves": "leaf",
    "lenses": "lens",
    "lies": "lie",
    "lives": "life",
    "loaves": "loaf",
    "mice": "mouse",
    "movies": "movie",
    "moustaches": "moustache",
    "mustaches": "mustache",
    "niches": "niche",
    "oxen": "ox",
    "phenomena": "phenomenon",
    "pies": "pie",
    "quizzes": "quiz",
    "scarves": "scarf",
    "shelves": "shelf",
    "shoes": "shoe",
    "teeth": "tooth",
    "thieves": "thief",
    "ties": "tie",
    "tiptoes": "tiptoe",
    "toes": "toe",
    "viruses": "virus",
    "wives": "wife",
    "wolves": "wolf",
    "zombies": "zombie",
}

#: Words that end like a plural and are none, or have no other form.
_UNCHANGED = word_set("""
    abdomen acumen afterwards alas always amen backwards besides christmas downstairs economics ethics
    forwards gymnastics hers indoors kansas lens mathematics news nowadays omen ours ourselves outdoors
    overseas perhaps physics politics ramen regimen semen series sometimes species specimen stamen
    statistics texas theirs themselves towards upstairs vegas whereas yours yourselves
""")

_WORD = re.compile(r"[a-z-]{4,}")


def noun_lemma(word: str) -> str:
    """Return the singular of a lower-cased English word read as a noun; what is no plural stays as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _UNCHANGED or not _WORD.fullmatch(word):
        return word
    for plural, singular in _ENDINGS:
        if word.endswith(plural) and len(word) > len(plural) + 1:
            return word.removesuffix(plural) + singular
    return word


def noun_lemmas(tokens: Tokens) -> Tokens:
    """Return the same texts with every token replaced by its noun lemma."""
    names = [noun_lemma(word) for word in tokens.vocabulary]
    return tokens.renamed(pl.Series("token", names, dtype=pl.String))
