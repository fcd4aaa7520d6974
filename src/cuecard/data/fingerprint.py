"""Content hashes that do not depend on the file the rows came from: of every row, and of a whole dataset."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard._compiled import njit
from cuecard.data.utf8 import utf8

Hashes = npt.NDArray[np.uint64]

#: Texts of an instance, hashed byte by byte; columns of few values are hashed once per value.
_TEXTS = ("premise", "hypothesis")
_NAMES = ("split", "label")
#: Characters of a text that tell it from most others.
BEGINNING = 24
_PRIME = np.uint64(0x100000001B3)
_START = np.uint64(0xCBF29CE484222325)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)


def row_hashes(table: pl.DataFrame) -> Hashes:
    """Return a number for every instance that changes with its texts, label, split and position.

    Neither ids nor extra columns are part of it, and neither is where the row stands: the hash of a row is the same in
    every partition of a dataset.
    """
    if table.is_empty():  # polars maps no values to objects
        return np.empty(0, dtype=np.uint64)
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
    missing = texts.is_null().to_numpy()
    hashes: Hashes = _byte_hashes(*utf8(texts))
    hashes[missing] = ~_START
    return hashes


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


@njit(cache=True, nogil=True)
def _byte_hashes(data: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> Hashes:
    n = len(offsets) - 1
    hashes = np.empty(n, dtype=np.uint64)
    for row in range(n):
        value = _START
        for i in range(offsets[row], offsets[row + 1]):
            value = (value ^ np.uint64(data[i])) * _PRIME
        value = (value ^ (value >> _S30)) * _MIX_A
        value = (value ^ (value >> _S27)) * _MIX_B
        hashes[row] = value ^ (value >> _S31)
    return hashes
