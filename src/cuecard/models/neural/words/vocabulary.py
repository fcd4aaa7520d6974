"""Words as numbers: those seen in training have one each, all others share one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from cuecard.errors import InputError
from cuecard.models.saved import read_json
from cuecard.text import Tokens
from cuecard.writing import write_json

FILE = "vocabulary.json"

#: Numbers that are no words: filling at the end of short texts, unknown words, the border between two texts
#: (which also stands for a text of no words).
PADDING, UNKNOWN, MARK = 0, 1, 2
FIRST_WORD = 3


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The vocabulary of a model, the most frequent first, and the tokeniser that finds them."""

    tokeniser: str
    words: tuple[str, ...]

    def __len__(self) -> int:
        return FIRST_WORD + len(self.words)

    @classmethod
    def learn(cls, texts: Sequence[Tokens], *, tokeniser: str, min_count: int) -> Vocabulary:
        """Return the words that occur at least `min_count` times in columns of texts over one vocabulary."""
        words = texts[0].vocabulary
        counts = sum(np.bincount(tokens.ids, minlength=len(words)) for tokens in texts)
        counted = pl.DataFrame({"word": words, "count": counts})
        frequent = counted.filter(pl.col("count") >= min_count).sort(
            "count", "word", descending=[True, False]
        )
        return cls(tokeniser, tuple(frequent["word"].to_list()))

    def read(self, tokens: Tokens) -> Tokens:
        """Return texts of this tokenisation in the numbers of the words that are known."""
        numbers = np.array(
            [self._numbers.get(word, UNKNOWN) for word in tokens.vocabulary.to_list()], dtype=np.int32
        )
        return Tokens(numbers[tokens.ids], tokens.offsets, self._names)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {word: FIRST_WORD + i for i, word in enumerate(self.words)}

    @cached_property
    def _names(self) -> pl.Series:
        return pl.Series(["", "[unknown]", "[mark]", *self.words], dtype=pl.String)

    def save(self, folder: Path) -> None:
        """Write the vocabulary as JSON."""
        write_json(folder / FILE, {"tokeniser": self.tokeniser, "words": list(self.words)})

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Return the vocabulary that `save` wrote."""
        content = read_json(folder / FILE)
        try:
            return cls(content["tokeniser"], tuple(content["words"]))
        except (KeyError, TypeError):
            raise InputError(
                f"{folder / FILE} is not a vocabulary: it lacks 'tokeniser' or 'words'."
            ) from None
