"""People, organisations, places, times and numbers that a text names, from gazetteers, capitals and digits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats import _native as k
from cuecard.text.annotate.word_roles import sections, verb_forms, words
from cuecard.text.tokens import Tokens

#: (word list, section) and the bit its words set.
_SECTION_BITS = {
    ("given_names", "given_name"): k.GIVEN_NAME,
    ("places", "place"): k.PLACE | k.NEEDS_NO_CAPITAL,
    ("places", "place_or_word"): k.PLACE,
    ("places", "place_in_capitals"): k.PLACE_IN_CAPITALS,
    ("peoples", "people"): k.PEOPLE | k.NEEDS_NO_CAPITAL,
    ("peoples", "people_or_word"): k.PEOPLE,
    ("organisations", "suffix"): k.ORGANISATION_LAST,
    ("organisations", "name"): k.ORGANISATION,
    ("organisations", "place"): k.PLACE_LAST,
    ("proper_nouns", "title"): k.TITLE,
    ("proper_nouns", "other"): k.OTHER_NAME,
    ("proper_nouns", "not_a_name"): k.COMMON,
    ("proper_nouns", "common_noun"): k.COMMON_NOUN,
    ("times", "alone"): k.TIME_WORD,
    ("times", "unit"): k.TIME_UNIT,
    ("times", "cue"): k.TIME_CUE,
    ("times", "month_or_word"): k.MONTH_OR_WORD,
    ("numbers", "count"): k.NUMBER,
    ("numbers", "order"): k.NUMBER,
}
_DIGITS = re.compile(r"\d+(st|nd|rd|th|k|m|bn)?")
_DECADE = re.compile(r"(1[5-9]|20)?\d0s|\d{1,2}[ap]m")
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
#: Endings of nouns that stand without an article, so that a capital at a sentence's start means nothing.
_ABSTRACT = (
    *(
        "ing",
        "tion",
        "sion",
        "ness",
        "ity",
        "ment",
        "ism",
        "ance",
        "ence",
        "ship",
        "hood",
        "dom",
        "ics",
        "ly",
    ),
    *("al", "ive", "ous", "ful", "less", "able", "ible"),
)


@cache
def _listed() -> dict[str, int]:
    bits: dict[str, int] = {"one": k.ONE, "in": k.IN, "from": k.IN, "near": k.IN, "to": k.IN, "the": k.THE}
    for (name, section), bit in _SECTION_BITS.items():
        for word in words(name, section):
            bits[word] = bits.get(word, 0) | bit
    for pair in words("places", "place_of_two_words"):
        first, second = pair.split("_")
        bits[first] = bits.get(first, 0) | k.PLACE_FIRST
        bits[second] = bits.get(second, 0) | k.PLACE_SECOND
    for section in sections("function_words"):
        if section not in ("not_plural", "not_adverb", "modifier", "plural_noun"):
            for word in words("function_words", section):
                bits[word] = bits.get(word, 0) | k.COMMON
    for word in words("function_words", "determiner"):
        bits[word] |= k.BEFORE_PRONOUN_ONE
    return bits


def entity_words(vocabulary: Iterable[str]) -> npt.NDArray[np.uint32]:
    """Return the bit mask of what each word says about named things."""
    return np.array([_bits(word) for word in vocabulary], dtype=np.uint32)


def _bits(word: str) -> int:
    if word[0].isdigit():
        if _YEAR.fullmatch(word):
            return k.YEAR
        if _DECADE.fullmatch(word):
            return k.TIME_WORD
        return k.NUMBER if _DIGITS.fullmatch(word) else 0
    listed = _listed()
    stem = word.removesuffix("'s")
    bits = listed.get(word, 0) or listed.get(stem, 0)
    if not bits and stem.endswith("s") and listed.get(stem[:-1], 0) & k.PEOPLE:
        bits = listed[stem[:-1]] & (k.PEOPLE | k.NEEDS_NO_CAPITAL)
    forms = verb_forms()
    if not bits and (word in forms.base or word in forms.third_person or word in forms.past):
        bits |= k.COMMON_NOUN
    if not bits and stem.endswith(_ABSTRACT):
        bits |= k.COMMON_NOUN
    return bits | k.POSSESSIVE if stem != word else bits


#: Types of entities and the bits of the compiled pass that mean them.
BITS = {
    "PERSON": _native.PERSON,
    "ORG": _native.ORG,
    "LOC": _native.LOC,
    "NORP": _native.NORP,
    "TIME": _native.TIME,
    "CARDINAL": _native.CARDINAL,
    "any": 0xFF,
}


def named_entities(
    tokens: Tokens, roles: npt.NDArray[np.uint32], flags: npt.NDArray[np.uint8]
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return for every entity type which texts name one; `any` includes events, works and products."""
    words = entity_words(tokens.vocabulary)
    bits = _native.named_things(tokens.ids, tokens.offsets, words, roles, flags)
    return {name: (bits & bit) != 0 for name, bit in BITS.items()}
