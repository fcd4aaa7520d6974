"""The built-in English annotator: words, names, sentiment and spelling; texts are gathered from annotated words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.fingerprint import composed, utf8
from cuecard.errors import MissingExtraError, UsageError
from cuecard.stats import _native
from cuecard.stats import _native as k
from cuecard.text.annotate.annotations import PROPERTIES, Annotations
from cuecard.text.annotate.word_roles import sections, verb_forms, word_roles, words
from cuecard.text.bytewise import code_point_kinds, code_points_seen, default_rule
from cuecard.text.tokenisers import tokenise
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
    tokens: Tokens,
    words: npt.NDArray[np.uint32],
    roles: npt.NDArray[np.uint32],
    flags: npt.NDArray[np.uint8],
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return for every entity type which texts name one; `any` includes events, works and products."""
    bits = _native.named_things(tokens.ids, tokens.offsets, words, roles, flags)
    return {name: (bits & bit) != 0 for name, bit in BITS.items()}


def sentiment(tokens: Tokens, tenths: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    """Return -1, 0 or 1 for every text: the sign of the sum of its words' polarities, in tenths."""
    sums = np.concatenate([[0], np.cumsum(tenths[tokens.ids])])[tokens.offsets]
    return np.sign(np.diff(sums)).astype(np.int8)


@cache
def word_polarities() -> dict[str, float]:
    """Return the mean polarity (-4 to 4) of every word in VADER's lexicon, lower-cased.

    The package's file is read as data: importing its analyser would bring an HTTP client along.
    """
    spec = find_spec("vaderSentiment")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("vaderSentiment", "english", "Sentiment of English words")
    path = Path(spec.submodule_search_locations[0]) / "vader_lexicon.txt"
    table = pl.read_csv(path, separator="\t", has_header=False, quote_char=None, columns=[0, 1])
    words, values = table.to_dict(as_series=False).values()
    return {word.lower(): value for word, value in zip(words, values, strict=True)}


class Dictionary(Protocol):
    """What we use of Hunspell."""

    def spell(self, word: str) -> bool:
        """Return whether the word is in the dictionary."""
        ...


#: British endings and their American ones: the dictionary is American, and British spelling is no mistake.
_BRITISH = [
    (re.compile(pattern), american)
    for pattern, american in [
        (r"our(?=$|s$|ed$|ing$|ful|less|able|ite|er)", "or"),
        (r"(?<=[a-z]{2})is(?=e$|es$|ed$|ing$|er$|ers$|ation$|ations$)", "iz"),
        (r"ys(?=e$|es$|ed$|ing$)", "yz"),
        (r"(?<=[bt])re(?=$|s$|d$)", "er"),
        (r"ll(?=ed$|ing$|er$|ers$)", "l"),
        (r"ogue(?=$|s$)", "og"),
        (r"ence(?=$|s$)", "ense"),
        (r"ae|oe", "e"),
        (r"mme(?=$|s$)", "m"),
    ]
]


def has_typo(tokens: Tokens, flags: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return which texts have a misspelt word; words with a capital may be names and are let pass."""
    written_small = np.zeros(len(tokens.vocabulary), dtype=np.bool_)
    written_small[tokens.ids[(flags & _native.CAPITAL) == 0]] = True
    misspelt = np.zeros(len(tokens.vocabulary), dtype=np.bool_)
    # Names are most of a large vocabulary, and looking a word up is what costs: only small ones are.
    misspelt[written_small] = [is_misspelt(word) for word in tokens.vocabulary.filter(written_small)]
    return any_in_row(misspelt[tokens.ids] & ((flags & _native.CAPITAL) == 0), tokens.offsets)


def any_in_row(found: npt.NDArray[np.bool_], offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Return which texts have a token that is found."""
    having = np.zeros(len(offsets) - 1, dtype=np.bool_)
    having[np.searchsorted(offsets, np.flatnonzero(found), side="right") - 1] = True
    return having


@lru_cache(maxsize=1 << 19)
def is_misspelt(word: str) -> bool:
    """Return whether a lower-cased word is not in the dictionary; numbers and single letters never are."""
    if len(word) < 2 or not word.replace("'", "").isalpha() or not word.isascii():
        return False
    dictionary = _dictionary()
    if dictionary.spell(word):  # as most are
        return False
    if word.removesuffix("'s") in words("newer_words", "newer"):
        return False
    forms = [word.capitalize(), word.upper()]
    if word.endswith("'s"):
        forms += [word[:-2], word[:-2].capitalize(), word[:-2].upper()]
    forms += [pattern.sub(american, word) for pattern, american in _BRITISH if pattern.search(word)]
    return not any(dictionary.spell(form) for form in forms)


@cache
def _dictionary() -> Dictionary:
    try:
        from hunspell import Hunspell
    except ImportError:
        raise MissingExtraError("chunspell", "english", "Spelling of English words") from None
    dictionary: Dictionary = Hunspell("en_US")
    return dictionary


def token_flags(texts: pl.Series, tokens: Tokens) -> npt.NDArray[np.uint8]:
    """Return the flags of every default token: `CAPITAL`, `CAPITALS`, `OPENS`, `PAUSE` … of `stats._native`.

    The texts are read once more, byte by byte, under the tokeniser's own rule: flags and tokens line up.
    """
    data, offsets = utf8(composed(texts))
    kinds, signs = _ascii_tables()
    if data.size and data.max() > 127:
        seen = code_points_seen(data)
        seen[:128] = True
        kinds = code_point_kinds(default_rule, seen)
        signs = np.zeros(len(kinds), dtype=np.uint8)
        points = np.flatnonzero(seen)
        signs[points] = [_sign(chr(point)) for point in points]
    flags, counts = k.context(data, offsets, kinds, signs, len(tokens.ids))
    if not np.array_equal(counts, tokens.lengths):
        raise UsageError("Annotating needs the tokens of these very texts under the default tokenisation.")
    checked: npt.NDArray[np.uint8] = flags
    return checked


@cache
def _ascii_tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    characters = [chr(point) for point in range(128)]
    kinds = np.array([default_rule(character) for character in characters], dtype=np.uint8)
    return kinds, np.array([_sign(character) for character in characters], dtype=np.uint8)


def _sign(character: str) -> int:
    """Return what a character says: the case of a letter, or the flags it sets on the token after it."""
    category = unicodedata.category(character)
    if category in ("Lu", "Lt"):
        return k.UPPER
    if category[0] == "L":
        return k.SMALL
    if character in ".!?…":
        return k.OPENS
    if character in "-‐‑":
        return k.JOINED
    if character in "\"“”„«»'‘’`":
        return k.QUOTED
    if character in ",;:" or category in ("Ps", "Pe", "Pd"):
        return k.PAUSE
    return k.MONEY if category == "Sc" else 0


def has_negation(tokens: Tokens) -> npt.NDArray[np.bool_]:
    """Return which texts negate a clause, as a parser's `neg` relation does; "no" before a noun does not."""
    vocabulary = tokens.vocabulary
    negator = vocabulary.is_in(words("negation", "negator")) | vocabulary.str.ends_with("n't")
    first = vocabulary.is_in(words("negation", "before_comparative"))
    second = vocabulary.is_in(words("negation", "comparative"))
    ids, offsets = tokens.ids, tokens.offsets
    found = negator.to_numpy()[ids]
    pairs = np.flatnonzero(first.to_numpy()[ids[:-1]] & second.to_numpy()[ids[1:]])
    # No pair crosses from one text into the next.
    found[pairs[offsets[np.searchsorted(offsets, pairs + 1)] != pairs + 1]] = True
    return any_in_row(found, offsets)


def main_tense(
    tokens: Tokens, roles: npt.NDArray[np.uint32], flags: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int8]:
    """Return 0 none, 1 past, 2 present, 3 future for every text, of the finite verb of its main clause.

    A modal verb (can, would …), an imperative and a text without a finite verb have none.
    """
    tenses: npt.NDArray[np.int8] = _native.tenses(tokens.ids, tokens.offsets, roles, flags)
    return tenses


class EnglishAnnotator:
    """Tense, negation and entities from our own word lists; sentiment and typos need the extra `english`."""

    properties = frozenset(PROPERTIES)

    def annotate(self, texts: pl.Series, tokens: Tokens | None = None) -> Annotations:
        """Return the texts' properties; `tokens` are their default tokens where they are at hand."""
        return EnglishAnnotations(texts, tokens)


class _Words:
    """What each word of a vocabulary says, looked up once for all texts over it."""

    def __init__(self, vocabulary: pl.Series) -> None:
        self._vocabulary = vocabulary

    @cached_property
    def tenths(self) -> npt.NDArray[np.int64]:
        """VADER's polarities, which have one decimal: whole tenths add up exactly, in whatever order."""
        polarity = word_polarities()
        return np.array([round(10 * polarity.get(word, 0.0)) for word in self._vocabulary], dtype=np.int64)

    @cached_property
    def entities(self) -> npt.NDArray[np.uint32]:
        """What words say about named things."""
        return entity_words(self._vocabulary)

    @cached_property
    def roles(self) -> npt.NDArray[np.uint32]:
        """What words can be."""
        return word_roles(self._vocabulary)


class EnglishAnnotations(Annotations):
    """Properties of English texts, each computed at first use."""

    def __init__(self, texts: pl.Series, tokens: Tokens | None = None, words: _Words | None = None) -> None:
        super().__init__("en", "The built-in annotator")
        self._texts = texts
        self._tokens = tokens
        self._known_words = words

    def rows(self, first: int, last: int) -> Annotations:
        """Return the properties of some texts."""
        texts = self._texts.slice(first, last - first)
        return EnglishAnnotations(texts, self._default_tokens.rows(first, last), self._words)

    @cached_property
    def _words(self) -> _Words:
        return self._known_words or _Words(self._default_tokens.vocabulary)

    @cached_property
    def sentiment(self) -> npt.NDArray[np.int8]:
        """Sign of the sum of VADER's word polarities."""
        return sentiment(self._default_tokens, self._words.tenths)

    @cached_property
    def tense(self) -> npt.NDArray[np.int8]:
        """Tense of the finite verb of the main clause."""
        return main_tense(self._default_tokens, self._words.roles, self._flags)

    @cached_property
    def negation(self) -> npt.NDArray[np.bool_]:
        """Whether the text has not, never, a word in n't or "no longer"."""
        return has_negation(self._default_tokens)

    @cached_property
    def entities(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Whether a thing of each type is named, from gazetteers, capitals and digits."""
        return named_entities(self._default_tokens, self._words.entities, self._words.roles, self._flags)

    @cached_property
    def typo(self) -> npt.NDArray[np.bool_]:
        """Whether a word without a capital is in no dictionary."""
        return has_typo(self._default_tokens, self._flags)

    @cached_property
    def _default_tokens(self) -> Tokens:
        return self._tokens if self._tokens is not None else tokenise(self._texts)

    @cached_property
    def _flags(self) -> npt.NDArray[np.uint8]:
        return token_flags(self._texts, self._default_tokens)
