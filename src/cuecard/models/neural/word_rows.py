"""Texts as sequences of word numbers, padded into batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.models.neural.batches import Batch
from cuecard.stats.arrays import Ints
from cuecard.text import Tokens
from cuecard.text.tokens import gather_rows

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


Numbers = npt.NDArray[np.int32]

#: What a place in a sequence is part of.
NEITHER, PREMISE, HYPOTHESIS = 0, 1, 2
_SEGMENTS = 3


def cut(tokens: Tokens, most_words: int, *, keep_end: bool) -> Tokens:
    """Return texts cut to their first words, or their last."""
    lengths = np.minimum(tokens.lengths, most_words)
    place = np.arange(tokens.offsets[-1]) - np.repeat(tokens.offsets[:-1], tokens.lengths)
    first = tokens.lengths - lengths if keep_end else np.zeros_like(lengths)
    inside = np.repeat(first, tokens.lengths) <= place
    inside &= place < np.repeat(first + lengths, tokens.lengths)
    return Tokens(tokens.ids[inside], np.concatenate([[0], np.cumsum(lengths)]), tokens.vocabulary)


@dataclass(frozen=True, eq=False)
class Sequences:
    """Ragged word numbers; the segment of each is kept in the same integer, so that one copy moves both."""

    codes: Numbers
    offsets: Ints

    @classmethod
    def of(cls, tokens: Tokens, segment: int) -> Sequences:
        """Return texts as they are, but one of no words is a mark, so that none is empty."""
        lengths = tokens.lengths
        places = np.maximum(lengths, 1)
        offsets = np.concatenate([[0], np.cumsum(places)])
        codes = np.full(offsets[-1], MARK * _SEGMENTS + NEITHER, dtype=np.int32)
        codes[np.repeat(lengths > 0, places)] = tokens.ids * _SEGMENTS + segment
        return cls(codes, offsets)

    @classmethod
    def marks(cls, n: int) -> Sequences:
        """Return what stands for n texts that a model may not read."""
        return cls(np.full(n, MARK * _SEGMENTS + NEITHER, dtype=np.int32), np.arange(n + 1))

    @property
    def lengths(self) -> Ints:
        """Number of places of every sequence."""
        return np.diff(self.offsets)

    def followed_by(self, others: Sequences) -> Sequences:
        """Return each sequence, a mark, and the other sequence of its row."""
        n, parts = len(self.offsets) - 1, (self, Sequences.marks(len(self.offsets) - 1), others)
        codes = np.concatenate([part.codes for part in parts])
        ends = np.cumsum([0] + [len(part.codes) for part in parts])
        offsets = np.concatenate(
            [[0], *(end + p.offsets[1:] for end, p in zip(ends[:-1], parts, strict=True))]
        )
        codes, offsets = gather_rows(codes, offsets, np.arange(3 * n).reshape(3, n).T.ravel())
        return Sequences(codes, np.ascontiguousarray(offsets[::3]))

    def padded(self, rows: Ints) -> tuple[Ints, Ints, Ints]:
        """Return word numbers and segments as rows × places, zero at the end of short rows, and the lengths."""
        codes, offsets = gather_rows(self.codes, self.offsets, rows)
        lengths = np.diff(offsets)
        table = np.zeros((len(rows), int(lengths.max(initial=1))), dtype=np.int64)
        table[np.arange(table.shape[1]) < lengths[:, None]] = codes
        return table // _SEGMENTS, table % _SEGMENTS, lengths


@dataclass(frozen=True, eq=False)
class WordRows:
    """The sequences a word model reads: premise and hypothesis apart, or joined to one.

    Attributes:
        texts: word numbers of every text that may be read, whole and without marks.
        sequences: what the module reads.
    """

    texts: tuple[Tokens, ...]
    sequences: tuple[Sequences, ...]

    @classmethod
    def of(
        cls,
        premise: Tokens | None,
        hypothesis: Tokens | None,
        vocabulary: Vocabulary,
        *,
        most_words: int,
        joined: bool,
        keep_end: bool,
    ) -> WordRows:
        """Return rows of texts; None is a text that the model may not read.

        Longer texts are cut to their first `most_words`, premises to their last where `keep_end` asks for it.
        """
        tokens = [None if text is None else vocabulary.read(text) for text in (premise, hypothesis)]
        n = max(len(text) for text in (premise, hypothesis) if text is not None)
        seen = [
            None
            if text is None
            else Sequences.of(cut(text, most_words, keep_end=keep_end and segment == PREMISE), segment)
            for text, segment in zip(tokens, (PREMISE, HYPOTHESIS), strict=True)
        ]
        texts = tuple(text for text in tokens if text is not None)
        if not joined:
            return cls(texts, tuple(Sequences.marks(n) if part is None else part for part in seen))
        first, second = seen
        if first is not None and second is not None:
            return cls(texts, (first.followed_by(second),))
        return cls(texts, tuple(part for part in seen if part is not None))

    @cached_property
    def lengths(self) -> Ints:
        """Rows × sequences."""
        return np.column_stack([sequence.lengths for sequence in self.sequences])

    def collate(self, rows: Ints) -> Batch:
        """Return lists with an entry per sequence: "words" and "segments" (rows × places) and "lengths"."""
        import torch

        padded = [sequence.padded(rows) for sequence in self.sequences]
        names = ("words", "segments", "lengths")
        columns: list[list[Any]] = [
            [torch.from_numpy(array) for array in kind] for kind in zip(*padded, strict=True)
        ]
        return dict(zip(names, columns, strict=True))
