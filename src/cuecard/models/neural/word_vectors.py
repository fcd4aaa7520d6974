"""Texts as padded rows of word numbers, and word vectors: learned from training texts, or read from a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.reading.formats import check_regular
from cuecard.errors import InputError
from cuecard.models.neural.batches import Batch
from cuecard.models.saved import file_digest
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints, Singles
from cuecard.text import Tokens
from cuecard.text.tokens import gather_rows

EPOCHS = 5
WINDOW = 5
NEGATIVES = 5
#: Learning rate at the beginning and at the end.
RATES = (0.05, 0.0005)
#: A word more frequent than this share of the text is left out now and then, the more frequent the more often.
FREQUENT = 1e-3
#: Wrong answers are drawn in proportion to the count to this power.
FLATTENING = 0.75
_DRAWS = 1 << 20


def cbow_vectors(
    texts: Sequence[Tokens], weights: Floats, n_words: int, dimensions: int, *, seed: int
) -> Singles:
    """Return vectors of all word numbers, learned from weighted texts; those of no word are zero.

    A text is drawn as often as its weight says (with replacement, where weights differ): an epoch of weighted
    texts is one of a set in which they have these shares.

    Args:
        texts: columns of texts, each with one text per weight.
        weights: how much the texts of a row count.
        n_words: how many word numbers there are.
        dimensions: of the vectors.
        seed: of all that is drawn.
    """
    ids = np.concatenate([text.ids for text in texts])
    ends = np.cumsum([0] + [len(text.ids) for text in texts])
    offsets = np.concatenate([[0], *(end + t.offsets[1:] for end, t in zip(ends[:-1], texts, strict=True))])
    weight = np.tile(weights, len(texts))
    generator = np.random.default_rng([seed, 3])
    counts = np.bincount(ids, weights=np.repeat(weight, np.diff(offsets)), minlength=n_words)
    counts[:UNKNOWN] = 0
    vectors = ((generator.random((n_words, dimensions)) - 0.5) / dimensions).astype(np.float32)
    contexts = np.zeros_like(vectors)
    if counts.sum() > 0:
        share = counts / counts.sum()
        with np.errstate(divide="ignore"):
            keep = np.minimum(1.0, np.sqrt(FREQUENT / share) + FREQUENT / share).astype(np.float32)
        flat = counts**FLATTENING
        negatives = generator.choice(n_words, size=_DRAWS, p=flat / flat.sum()).astype(np.int32)
        rates = np.linspace(*RATES, EPOCHS + 1)
        even = np.allclose(weight, weight[0])
        for epoch in range(EPOCHS):
            n = len(weight)
            order = generator.permutation(n) if even else generator.choice(n, size=n, p=weight / weight.sum())
            _native.cbow_epoch(
                ids,
                offsets,
                order,
                keep,
                negatives,
                WINDOW,
                NEGATIVES,
                rates[epoch],
                rates[epoch + 1],
                int(generator.integers(1 << 30)),
                vectors,
                contexts,
            )
    vectors[:UNKNOWN] = 0
    vectors[UNKNOWN + 1 : FIRST_WORD] = 0
    return vectors


#: Spread of the vectors of words that the file lacks.
SPREAD = 0.1


def filed_vectors(path: str, vocabulary: Vocabulary, dimensions: int, *, seed: int) -> Singles:
    """Return a vector for every number of the vocabulary: the file's, or a random one where it lacks the word.

    A first line of two numbers, the header of word2vec's text format, is passed over.
    """
    generator = np.random.default_rng([seed, 5])
    vectors = generator.normal(0, SPREAD, (len(vocabulary), dimensions)).astype(np.float32)
    vectors[PADDING] = 0
    numbers = {word: FIRST_WORD + i for i, word in enumerate(vocabulary.words)}
    for line, (word, values) in _lines(path, dimensions):
        if (number := numbers.get(word)) is not None:
            vectors[number] = _vector(path, line, values, dimensions)
    return vectors


def check_width(path: str, dimensions: int) -> None:
    """Raise if the first vector of the file has another length, before anything is trained."""
    for line, (_, values) in _lines(path):
        _vector(path, line, values, dimensions)
        return
    raise InputError(f"{path} holds no word vectors: each line is a word and its numbers, between spaces.")


def vectors_digest(path: str) -> str:
    """Return a hash of the file's content."""
    try:
        check_regular(Path(path), rows=False)
        return file_digest(Path(path))
    except OSError as error:
        raise _unreadable(path, error) from None


def _lines(path: str, dimensions: int = -1) -> Iterator[tuple[int, tuple[str, list[str]]]]:
    """Yield the words with their values; with `dimensions`, the word is what precedes that number of values.

    Some words of GloVe's largest file have spaces, such as ". . .".
    """
    try:
        check_regular(Path(path), rows=False)
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, start=1):
                word, *values = line.rstrip().rsplit(" ", dimensions)
                if values and not (number == 1 and len(values) == 1):
                    yield number, (word, values)
    except OSError as error:
        raise _unreadable(path, error) from None


def _vector(path: str, line: int, values: list[str], dimensions: int) -> Singles:
    if len(values) != dimensions:
        raise InputError(
            f"{path}, line {line}: the vector has {len(values)} numbers, expected {dimensions}; write --set "
            f"dimensions={len(values)}."
        )
    try:
        vector = np.array(values, dtype=np.float32)
    except ValueError:
        raise InputError(f"{path}, line {line}: not all values of the vector are numbers.") from None
    if not np.isfinite(vector).all():
        raise InputError(f"{path}, line {line}: a vector has a value that is not finite.")
    return vector


def _unreadable(path: str, error: OSError) -> InputError:
    return InputError(
        f"{path}: the word vectors cannot be read ({error.strerror}); name a file with vectors=FILE."
    )


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
