"""Texts as the bytes that compiled loops read, without a copy."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

Scalar = TypeVar("Scalar", bound=np.generic)


def utf8(texts: pl.Series) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of all texts and where each begins and ends; a missing text is empty."""
    if texts.null_count():
        texts = texts.fill_null("")
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offset_buffer, data_buffer = array.buffers()
    if offset_buffer is None or len(array) == 0:
        offsets = np.zeros(len(array) + 1, dtype=np.int64)
    else:
        offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", dtype=np.uint8)
    return read_only(data[: offsets[-1]]), read_only(offsets)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return the array closed for writing: always so, one compiled version of a loop serves all callers."""
    array.flags.writeable = False
    return array
