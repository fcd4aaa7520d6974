"""Typos as ICQ's authors count them: words that pyspellchecker would correct."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from string import punctuation
from typing import ClassVar

import numpy as np

from cuecard.errors import MissingExtraError
from cuecard.features.family import Presence
from cuecard.features.raw_text import SCOPE_COLUMNS
from cuecard.text import Encoded
from cuecard.text.annotate.english import any_in_row
from cuecard.text.treebank import tokenise_treebank


@dataclass(frozen=True)
class Corrections:
    """At least one of NLTK's words is in no dictionary of pyspellchecker, and within two edits of one that is."""

    name: ClassVar[str] = "spelling"
    description: ClassVar[str] = "pyspellchecker would correct a word"
    phrase: ClassVar[str] = "a {}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    extra: ClassVar[str] = "spelling"

    def presence(self, data: Encoded) -> Presence:
        """Return which instances have a word to correct."""
        _dictionary()  # raises where the extra is missing, which has NLTK as well
        corrected = np.zeros(len(data.instances), dtype=np.bool_)
        for field in SCOPE_COLUMNS[data.scope]:
            words = tokenise_treebank(data.instances.table[field])
            wrong = np.array([would_correct(word) for word in words.vocabulary], dtype=np.bool_)
            corrected |= any_in_row(wrong[words.ids], words.offsets)
        return Presence.from_columns({"typo": corrected}, len(data.instances))


@lru_cache(maxsize=1 << 17)
def would_correct(word: str) -> bool:
    """Return whether a lower-cased word has a correction; one that resembles no word of the dictionary has none."""
    known = _dictionary()
    if word in known or not _is_checked(word):
        return False
    near = set(_edits(word))
    if not near.isdisjoint(known):
        return True
    return any(edited in known for one in near if _is_checked(one) for edited in _edits(one))


def _is_checked(word: str) -> bool:
    """Return whether it is neither a punctuation mark, nor a number, nor longer than any word could become."""
    if word in punctuation or len(word) > _longest() + 3:
        return False
    try:
        float(word)
    except ValueError:
        return True
    return False


def _edits(word: str) -> Iterator[str]:
    """Yield a word with one letter left out, exchanged with the next, replaced or added."""
    for i in range(len(word) + 1):
        before, after = word[:i], word[i:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        for letter in _letters():
            yield before + letter + after
            if after:
                yield before + letter + after[1:]


@cache
def _dictionary() -> frozenset[str]:
    """Return the words of pyspellchecker's English dictionary; its file is read as data, the package not imported."""
    spec = find_spec("spellchecker")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("pyspellchecker", "spelling", "The feature family 'spelling'")
    with gzip.open(Path(spec.submodule_search_locations[0], "resources", "en.json.gz")) as file:
        return frozenset(json.load(file))


@cache
def _letters() -> str:
    """Return all characters of the dictionary's words."""
    return "".join(sorted(set().union(*_dictionary())))


@cache
def _longest() -> int:
    return max(map(len, _dictionary()))
