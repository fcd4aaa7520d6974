"""Texts that share a hash are compared byte by byte; different ones get different numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard._compiled import njit
from cuecard.data.fingerprint import Hashes, mixed
from cuecard.data.splits.sentences import normalised
from cuecard.data.units._kernels import rising_order
from cuecard.data.utf8 import utf8
from cuecard.stats.arrays import Bools, Ints

Array = npt.NDArray[Any]

#: What is compared: texts as they are, or up to case and punctuation.
Kind = Literal["text", "key"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SIDES = ("premise", "hypothesis")
#: What stands for a missing text; a text of this character has another hash.
_MISSING = "\x00"
_STEP = np.uint64(0x9E3779B97F4A7C15)
_SHARING = {"kind": pl.String, "hash": pl.UInt64, "text": pl.String}


def form(texts: pl.Series, kind: Kind) -> pl.Series:
    """Return what is equal for texts of the same number."""
    return texts if kind == "text" else normalised(texts)


def none_sharing() -> pl.DataFrame:
    """Return what `sharing` returns where no different texts share a hash."""
    return pl.DataFrame(schema=_SHARING)


def sharing(kind: Kind, hashes: Hashes, texts: pl.Series) -> pl.DataFrame:
    """Return the different texts that share a hash with each other: kind, hash and text; hardly ever there are any."""
    hashes, texts = np.ascontiguousarray(hashes), _filled(texts)
    shared = np.unique(_shared(*utf8(texts), hashes, rising_order(hashes)))
    if not len(shared):
        return none_sharing()
    rows = np.isin(hashes, shared)
    found = pl.DataFrame({"hash": hashes[rows], "text": texts.filter(pl.Series(rows))})
    return found.unique().select(kind=pl.lit(kind), hash="hash", text="text").sort("hash", "text")


def told_apart(shared: pl.DataFrame, occurring: Callable[[Kind, Hashes], Bools]) -> pl.DataFrame:
    """Return texts that share a hash, all of a dataset, with the number that each has instead of it.

    The first text in alphabetical order keeps the hash, the others have numbers that no text has: `occurring` returns
    which ones texts have. Numbers do not depend on the order of rows.
    """
    parts = []
    for kind in KINDS:
        own = shared.filter(pl.col("kind") == kind).unique().sort("hash", "text")
        hashes = own["hash"].to_numpy()
        later = np.flatnonzero(np.diff(hashes, prepend=~hashes[:1]) == 0)
        new = hashes.copy()
        new[later] = _fresh(hashes[later], lambda numbers, kind=kind: occurring(kind, numbers))  # type: ignore[misc]
        parts.append(own.with_columns(new=pl.Series(new, dtype=pl.UInt64)))
    return pl.concat(parts)


def changed_hashes(
    numbers: pl.DataFrame, texts: pl.DataFrame, apart: pl.DataFrame
) -> Iterator[tuple[str, Ints, Hashes]]:
    """Yield columns of hashes, the rows whose hash is replaced, and what replaces it."""
    for kind in KINDS:
        own = apart.filter(pl.col("kind") == kind).select("hash", "text", "new")
        for side in SIDES if own.height else ():
            column = f"{side}_{kind}"
            rows = np.flatnonzero(np.isin(numbers[column].to_numpy(), own["hash"].to_numpy()))
            of_rows = pl.DataFrame(
                {"hash": numbers[column].gather(rows), "text": _filled(form(texts[side].gather(rows), kind))}
            )
            new = of_rows.join(own, on=["hash", "text"], how="left", maintain_order="left")["new"]
            yield column, rows, new.to_numpy()


def exact_hashes(hashes: Hashes, texts: pl.Series) -> Hashes:
    """Return the hashes of texts, changed where different texts share one."""
    shared = sharing("text", hashes, texts)
    if shared.is_empty():
        return hashes
    apart = told_apart(shared, lambda _, numbers: np.isin(numbers, hashes)).drop("kind")
    of_rows = pl.DataFrame({"hash": hashes, "text": _filled(texts)}).join(
        apart, on=["hash", "text"], how="left", maintain_order="left"
    )
    return of_rows.select(pl.coalesce("new", "hash")).to_series().to_numpy()


def _filled(texts: pl.Series) -> pl.Series:
    return texts.fill_null(_MISSING) if texts.null_count() else texts


def _fresh(hashes: Hashes, occurring: Callable[[Hashes], Bools]) -> Hashes:
    """Return different numbers that do not occur, one for every hash."""
    new = mixed(hashes + _STEP * np.arange(1, len(hashes) + 1, dtype=np.uint64))
    while True:
        taken = occurring(new) | ~pl.Series(new, dtype=pl.UInt64).is_first_distinct().to_numpy()
        if not taken.any():
            return new
        new[taken] = mixed(new[taken] + _STEP)


@njit(cache=True, nogil=True)
def _shared(data: Array, offsets: Array, hashes: Array, order: Array) -> Array:
    """Return the hashes of texts that differ from the one before them in the order of hashes, and share its hash."""
    found = np.empty(16, dtype=np.uint64)
    used = 0
    for place in range(1, len(order)):
        a, b = order[place - 1], order[place]
        if hashes[a] != hashes[b]:
            continue
        size = offsets[a + 1] - offsets[a]
        same = size == offsets[b + 1] - offsets[b]
        i = 0
        while same and i < size:
            same = data[offsets[a] + i] == data[offsets[b] + i]
            i += 1
        if not same:
            if used == len(found):
                found = np.concatenate((found, np.empty_like(found)))
            found[used] = hashes[a]
            used += 1
    return found[:used].copy()
