"""Runs of n tokens as integers; their names are only written out for those asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import on_threads, parts_of_rows, running_total
from cuecard.errors import UsageError
from cuecard.stats import _native
from cuecard.text.tokens import Tokens

#: Below this many tokens a second thread costs more than it saves.
TOKENS_PER_THREAD = 1 << 18


@dataclass(frozen=True, eq=False)
class NGrams:
    """The n-grams of texts: those of text i are `ids[offsets[i]:offsets[i + 1]]`, indices into `members`.

    Row j of `members` holds the n tokens of n-gram j as indices into `words`. No n-gram crosses from one text
    into the next. N-grams are numbered in order of first occurrence.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    members: npt.NDArray[np.int32]
    words: pl.Series

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def n(self) -> int:
        """Number of tokens in an n-gram."""
        return int(self.members.shape[1])

    @property
    def n_types(self) -> int:
        """Number of different n-grams."""
        return len(self.members)

    def names(self, which: npt.NDArray[np.integer] | None = None) -> pl.Series:
        """Return n-grams as strings such as "is sleeping": all of them, or those of the given numbers."""
        members = self.members if which is None else self.members[which]
        columns = [self.words.gather(members[:, k]).alias(str(k)) for k in range(self.n)]
        return pl.DataFrame(columns).select(pl.concat_str(pl.all(), separator=" ").alias("token")).to_series()


def ngrams(tokens: Tokens, n: int, *, threads: int | None = None) -> NGrams:
    """Return the runs of n tokens within each text, as integers."""
    if n < 1:
        raise UsageError(f"n must be at least 1, not {n}.")
    ids, offsets = tokens.ids, tokens.offsets
    members = np.arange(tokens.n_types, dtype=np.int32)[:, None]
    for length in range(2, n + 1):
        ids, offsets, distinct = _one_longer(tokens, ids, offsets, length, threads)
        last = (distinct % max(1, tokens.n_types)).astype(np.int32)
        members = np.column_stack([members[distinct // max(1, tokens.n_types)], last])
    return NGrams(ids, offsets, members, tokens.vocabulary)


def _one_longer(
    tokens: Tokens,
    prefixes: npt.NDArray[np.int32],
    prefix_offsets: npt.NDArray[np.int64],
    n: int,
    threads: int | None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the n-grams' numbers, their offsets, and each number's key `prefix · types + last token`."""
    bounds = parts_of_rows(tokens.offsets, threads, TOKENS_PER_THREAD)

    def number(part: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        first, last = bounds[part]
        keys, key_offsets = _native.ngram_keys(
            prefixes,
            prefix_offsets[first : last + 1],
            tokens.ids,
            tokens.offsets[first : last + 1],
            n,
            tokens.n_types,
        )
        return *_native.number_keys(keys), np.diff(key_offsets)

    parts = on_threads(number, len(bounds))
    offsets = running_total(np.concatenate([part[2] for part in parts]))
    if len(parts) == 1:
        return parts[0][0], offsets, parts[0][1]
    numbers, distinct = _native.number_keys(np.concatenate([part[1] for part in parts]))
    type_bounds = running_total(np.array([len(part[1]) for part in parts]))
    id_bounds = running_total(np.array([len(part[0]) for part in parts]))
    ids = np.empty(id_bounds[-1], dtype=np.int32)

    def renumber(part: int) -> None:
        own_numbers = numbers[type_bounds[part] : type_bounds[part + 1]]
        np.take(own_numbers, parts[part][0], out=ids[id_bounds[part] : id_bounds[part + 1]], mode="clip")

    on_threads(renumber, len(parts))
    return ids, offsets, distinct
