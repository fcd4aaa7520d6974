"""Names of cues in sentences: words in quotes, other features by what an instance with them has."""

from __future__ import annotations

from collections.abc import Mapping

from cuecard.features.family import FAMILIES
from cuecard.features.patterns import Regexes

#: The lengths whose names are no phrase.
LENGTHS = {"longest": "the most tokens", "shortest": "the fewest tokens"}
#: Likewise of the format: a text is one "with" them.
FORMATS = {"ends with a full stop": "a final full stop", "starts in lower case": "a lower-case start"}


def cue_name(family: str, feature: str, phrases: Mapping[str, str]) -> str:
    """Return what a cue is called in a sentence, by the phrases of the families.

    >>> cue_name("length", "longest", {"length": "{}"}), cue_name("word", "not", {"word": "“{}”"})
    ('the most tokens', '“not”')
    >>> cue_name("format", "ends with a full stop", {"format": "{}"})
    'a final full stop'
    """
    name = {"length": LENGTHS, "format": FORMATS}.get(family, {}).get(feature)
    return name or phrases[family].format(feature)


def spoken_cue(family: str, feature: str) -> str:
    """Return what a cue of a card is called; where its family is not installed, its name in quotes.

    >>> spoken_cue("bigram", "is not"), spoken_cue("sentiment", "negative"), spoken_cue("mine", "x")
    ('“is not”', 'negative words', '“x”')
    """
    if family == Regexes.name:
        return cue_name(family, feature, {family: Regexes.phrase})
    phrase = FAMILIES.get(family).phrase if family in FAMILIES.names() else "“{}”"
    return cue_name(family, feature, {family: phrase})
