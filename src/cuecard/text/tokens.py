"""Texts as integers: token ids, offsets and a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import running_total


@dataclass(frozen=True, eq=False)
class Tokens:
    """Tokenised texts: those of text i are `ids[offsets[i]:offsets[i + 1]]`, indices into `vocabulary`."""

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    vocabulary: pl.Series

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of every text."""
        return np.diff(self.offsets)

    @property
    def n_types(self) -> int:
        """Number of different tokens there may be: the size of the vocabulary."""
        return len(self.vocabulary)

    def words(self, i: int) -> list[str]:
        """Return the tokens of one text as strings."""
        return self.vocabulary.gather(self.ids[self.offsets[i] : self.offsets[i + 1]]).to_list()

    def rows(self, first: int, last: int) -> Tokens:
        """Return the texts from `first` up to, not including, `last`, without copying their tokens."""
        begin, end = self.offsets[first], self.offsets[last]
        return Tokens(self.ids[begin:end], self.offsets[first : last + 1] - begin, self.vocabulary)

    def gather(self, rows: npt.NDArray[np.integer]) -> Tokens:
        """Return the texts of the given numbers, in that order; the vocabulary stays."""
        return Tokens(*gather_rows(self.ids, self.offsets, rows), self.vocabulary)

    def renumbered(self) -> Tokens:
        """Return the same texts over the types that occur, numbered in the order of their first occurrence."""
        order, ids = occurrence_order(self.ids, self.n_types)
        return Tokens(ids, self.offsets, self.vocabulary.gather(order))

    def renamed(self, names: pl.Series) -> Tokens:
        """Return the same texts with type i called `names[i]`; types of one name become one.

        The vocabulary stays in the order in which names first occur in the old one.
        """
        vocabulary = names.unique(maintain_order=True)
        if len(vocabulary) == len(names):
            return Tokens(self.ids, self.offsets, names)
        codes = names.cast(pl.Enum(vocabulary)).to_physical().cast(pl.Int32).to_numpy()
        return Tokens(np.take(codes, self.ids), self.offsets, vocabulary)


def occurrence_order(
    ids: npt.NDArray[np.int32], n_types: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the types that occur in the order of their first occurrence, and the ids numbered in that order."""
    first = np.full(n_types, len(ids), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids) - 1, -1, -1)  # of equal places, the last one written stays
    occurring = np.flatnonzero(first < len(ids))
    order = occurring[np.argsort(first[occurring])]
    numbers = np.empty(n_types, dtype=np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return order, np.take(numbers, ids)


def gather_rows(
    ids: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], rows: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return ids and offsets of the rows of the given numbers, in that order."""
    new_offsets = running_total(offsets[rows + 1] - offsets[rows])
    sizes = np.diff(new_offsets)
    places = np.repeat(offsets[rows] - new_offsets[:-1], sizes)
    places += np.arange(len(places))
    return np.take(ids, places), new_offsets
