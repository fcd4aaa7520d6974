"""Texts to tokens with a compiled loop over their bytes, on all cores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cuecard.text import _kernels
from cuecard.text.alphabet import Rule, byte_actions, code_point_kinds
from cuecard.text.tokens import Tokens

#: Below this many bytes a second thread costs more than it saves.
BYTES_PER_THREAD = 1 << 20

Scalar = TypeVar("Scalar", bound=np.generic)

#: Token ids, tokens per row, the types' bytes, the types' bounds.
Part = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.int64]]

_NO_KINDS = np.zeros(1, dtype=np.uint8)
_EVERY_BYTE_A_LETTER = np.arange(256, dtype=np.uint16)


def tokenise_bytes(texts: pl.Series, rule: Rule, *, threads: int | None = None) -> Tokens:
    """Return the tokens of every text under a rule for characters; missing texts have none.

    The vocabulary is in order of first occurrence, whatever the number of threads.
    """
    data, offsets = utf8(texts)
    kinds = _NO_KINDS
    if data.size and data.max() > 127:
        # Lower-casing beyond ASCII may change a character's length, so it comes before the loop.
        data, offsets = utf8(texts.str.to_lowercase())
        kinds = code_point_kinds(rule, _kernels.code_points_seen(data))
    actions = byte_actions(rule)
    bounds = _partitions(offsets, threads or pl.thread_pool_size())

    def encode(part: int) -> Part:
        first, last = bounds[part], bounds[part + 1]
        encoded: Part = _kernels.encode_rows(data, offsets, first, last, actions, kinds)
        return encoded

    n_parts = len(bounds) - 1
    if n_parts == 1:
        ids, counts, arena, starts = encode(0)
        return Tokens(ids, _running(counts), _strings(arena, starts))
    with ThreadPoolExecutor(n_parts) as pool:
        parts = list(pool.map(encode, range(n_parts)))
        # Each part's types are rows of one token each, so the same loop numbers them all.
        all_types = _concatenated_types(parts)
        numbers, _, arena, starts = _kernels.encode_rows(
            *all_types, 0, len(all_types[1]) - 1, _EVERY_BYTE_A_LETTER, _NO_KINDS
        )
        ids = np.empty(sum(len(part[0]) for part in parts), dtype=np.int32)
        id_bounds = _running(np.array([len(part[0]) for part in parts]))
        type_bounds = _running(np.array([len(part[3]) - 1 for part in parts]))

        def renumber(part: int) -> None:
            _kernels.renumber(
                parts[part][0],
                numbers[type_bounds[part] : type_bounds[part + 1]],
                ids[id_bounds[part] : id_bounds[part + 1]],
            )

        list(pool.map(renumber, range(n_parts)))
    counts = np.concatenate([part[1] for part in parts])
    return Tokens(ids, _running(counts), _strings(arena, starts))


def utf8(texts: pl.Series) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of all texts and where each begins and ends; a missing text is empty."""
    if texts.null_count():
        texts = texts.fill_null("")
    array = texts.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offset_buffer, data_buffer = array.buffers()
    if offset_buffer is None or len(array) == 0:
        offsets = np.zeros(len(array) + 1, dtype=np.int64)
    else:
        offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", dtype=np.uint8)
    return _read_only(data[: offsets[-1]]), _read_only(offsets)


def _partitions(offsets: npt.NDArray[np.int64], threads: int) -> list[int]:
    """Return row bounds of parts with about the same number of bytes."""
    n_bytes = int(offsets[-1] - offsets[0])
    n_parts = max(1, min(threads, n_bytes // BYTES_PER_THREAD))
    goals = offsets[0] + n_bytes * np.arange(1, n_parts) // n_parts
    inner = np.searchsorted(offsets, goals)
    return [0, *(int(row) for row in inner), len(offsets) - 1]


def _concatenated_types(
    parts: list[Part],
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of all parts' types in a row and their bounds."""
    arena = np.concatenate([part[2] for part in parts])
    sizes = np.concatenate([np.diff(part[3]) for part in parts])
    return _read_only(arena), _read_only(_running(sizes))


def _read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return the array closed for writing: always so, one compiled version of each loop serves all callers."""
    array.flags.writeable = False
    return array


def _running(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return offsets from counts: 0, then the running total."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def _strings(arena: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> pl.Series:
    """Return the types as strings."""
    array = pa.LargeStringArray.from_buffers(
        len(starts) - 1, pa.py_buffer(np.ascontiguousarray(starts)), pa.py_buffer(np.ascontiguousarray(arena))
    )
    return pl.Series("token", pl.from_arrow(array), dtype=pl.String)
