"""Content hashes that do not depend on the file the rows came from: of every row, and of a whole dataset."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.sentences import utf8
from cuecard.stats import _native
from cuecard.stats.arrays import chunks

Hashes = npt.NDArray[np.uint64]

#: Texts of an instance, hashed byte by byte; columns of few values are hashed once per value.
_TEXTS = ("premise", "hypothesis")
_NAMES = ("split", "label")
#: Texts whose bytes are read at a time.
HASHED = 1 << 18
#: Characters of a text that tell it from most others.
BEGINNING = 24
#: Hashes that are compared at a time, about.
TOLD_APART = 1 << 24
_PRIME = np.uint64(0x100000001B3)
_START = np.uint64(0xCBF29CE484222325)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


def row_hashes(table: pl.DataFrame) -> Hashes:
    """Return a number for every instance that changes with its texts, label, split and position.

    Neither ids nor extra columns are part of it, and neither is where the row stands.
    """
    hashes: Hashes = np.empty(table.height, dtype=np.uint64)
    for rows in chunks(table.height, HASHED):
        hashes[rows] = _row_hashes(table.slice(rows.start, rows.stop - rows.start))
    return hashes


def _row_hashes(table: pl.DataFrame) -> Hashes:
    hashes = mixed(table["position"].cast(pl.Int64).to_numpy().astype(np.uint64) + _START)
    for column in _NAMES:
        names = table[column].cast(pl.String)
        different = names.unique()
        code = dict(zip(different.to_list(), text_hashes(different).tolist(), strict=True))
        of_rows = names.replace_strict(code, return_dtype=pl.UInt64).to_numpy()
        hashes = mixed(hashes * _GOLDEN ^ of_rows)
    for column in _TEXTS:
        hashes = mixed(hashes * _GOLDEN ^ text_hashes(table[column]))
    return hashes


def text_hashes(texts: pl.Series) -> Hashes:
    """Return the hash of every text's bytes; a missing text is none of those that are there."""
    hashes: Hashes = np.empty(len(texts), dtype=np.uint64)
    for rows in chunks(len(texts), HASHED):
        some = texts.slice(rows.start, rows.stop - rows.start)
        hashes[rows] = _native.byte_hashes(*utf8(some))
        if some.null_count():
            hashes[rows][some.is_null().to_numpy()] = ~_START
    return hashes


def told_apart(first: Hashes, second: Hashes) -> None:
    """Make the first hashes of texts differ wherever the second ones do, in place: 128 bits tell texts apart.

    Of different texts that share the first hash, that of the smallest second one keeps it.
    """
    n_parts = -(-len(first) // TOLD_APART)
    for part in range(n_parts):
        rows = np.arange(len(first))
        if n_parts > 1:  # equal hashes are in one part
            size = np.uint64((1 << 64) // n_parts + 1)
            rows = np.concatenate(
                [some.start + np.flatnonzero(first[some] // size == part) for some in chunks(len(first))]
            )
        own = first[rows]
        order = np.argsort(own, kind="stable")
        rising, other = own[order], second[rows[order]]
        same = rising[1:] == rising[:-1]
        if not (same & (other[1:] != other[:-1])).any():
            continue
        begins = np.flatnonzero(np.append(True, ~same))
        least = np.repeat(np.minimum.reduceat(other, begins), np.diff(begins, append=len(order)))
        changed = other != least
        first[rows[order[changed]]] = mixed(rising[changed] ^ mixed(other[changed]))


def beginning_hashes(texts: pl.Series) -> Hashes:
    """Return the hash of every text's first characters, which tell most texts apart."""
    return text_hashes(texts.str.head(BEGINNING))


def fingerprint(rows: Hashes, *, task: str, examples: npt.NDArray[np.int64]) -> str:
    """Return 16 hex digits that change whenever a text, a label, a split or the order of the rows does.

    `rows` are the hashes of the rows. `examples` numbers the example of every row, so what counts is which rows belong
    together, not what their example is called.
    """
    digest = hashlib.blake2b(task.encode(), digest_size=8)
    digest.update(np.ascontiguousarray(examples, dtype="<i8").data)
    digest.update(np.ascontiguousarray(rows, dtype="<u8").data)
    return digest.hexdigest()


def mixed(values: Hashes) -> Hashes:
    """Return numbers whose bits all depend on all bits of the given ones (the finaliser of SplitMix64)."""
    values = (values ^ (values >> _S30)) * _MIX_A
    values = (values ^ (values >> _S27)) * _MIX_B
    return np.asarray(values ^ (values >> _S31))
