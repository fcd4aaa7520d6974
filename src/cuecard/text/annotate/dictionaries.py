"""Sentiment and spelling of English words, by the dictionaries of optional packages."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import MissingExtraError
from cuecard.stats import _native
from cuecard.text.annotate.word_roles import words
from cuecard.text.tokens import Tokens


def sentiment(tokens: Tokens) -> npt.NDArray[np.int8]:
    """Return -1, 0 or 1 for every text: the sign of the sum of VADER's word polarities."""
    polarity = word_polarities()
    # Polarities have one decimal: whole tenths add up exactly, in whatever order.
    tenths = np.array([round(10 * polarity.get(word, 0.0)) for word in tokens.vocabulary], dtype=np.int64)
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
    has_typo: npt.NDArray[np.bool_] = _native.any_small_word(tokens.ids, tokens.offsets, misspelt, flags)
    return has_typo


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
