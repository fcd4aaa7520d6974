"""Examples that are connected: by sentences that they share, and by copies of their texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.data.fingerprint import Hashes
from cuecard.data.instances import Instances
from cuecard.data.row_numbers import side_keys
from cuecard.data.space import MEMORY, Space
from cuecard.data.units._kernels import leader_of
from cuecard.data.units.buckets import Buckets, bucket_bits, first_places
from cuecard.stats.arrays import Bools, Ints

Array = npt.NDArray[Any]
TextSide = Literal["premise", "hypothesis"]
#: Rows whose sentences are divided by hash at a time.
AT_A_TIME = 1 << 20

_SENTENCE = np.dtype([("key", np.uint64), ("example", np.int64)])


def join_sentences(data: Instances, sides: Sequence[TextSide], leader: Ints, space: Space = MEMORY) -> None:
    """Join examples that share a sentence: those of a group follow its first one in `leader`.

    Sentences are the same up to case and punctuation, on either side; empty texts connect nothing. Where arrays are
    on disk, memory holds the sentences of one file by hash at a time.
    """
    sentences = _sentences(data, sides)
    with space.place() as place:
        if place is None or not bucket_bits(len(data) * len(sides)):
            for keys, examples in _at_once(sentences):
                _join_equal(keys, examples, leader)
            return
        buckets = Buckets(place / "sentences", _SENTENCE, len(data) * len(sides))
        for keys, examples in sentences:
            records = np.empty(len(keys), dtype=_SENTENCE)
            records["key"], records["example"] = keys, examples
            buckets.add(keys, records)
        for records in buckets:
            _join_equal(*(np.ascontiguousarray(records[name]) for name in ("key", "example")), leader)


def join_units(units: Ints, blank: Bools | None, examples: Ints, leader: Ints) -> None:
    """Join examples whose rows share a unit; rows that are blank join nothing."""
    first = np.full(int(units.max(initial=-1)) + 1, -1, dtype=np.int32 if len(leader) < 1 << 31 else np.int64)
    _join_units(units, np.zeros(0, dtype=np.bool_) if blank is None else blank, examples, first, leader)


def number_groups(leader: Ints) -> None:
    """Replace the leader of every example by the number of its group, 0, 1, 2, … in order of first occurrence."""
    _number(leader)


def _sentences(data: Instances, sides: Sequence[TextSide]) -> Iterator[tuple[Hashes, Ints]]:
    """Yield hashes of sentences with the examples that have them, some rows at a time."""
    for of_side, there in (side_keys(data, side) for side in sides):
        for start in range(0, len(data), AT_A_TIME):
            rows = slice(start, start + AT_A_TIME)
            yield of_side[rows][there[rows]], data.example_codes[rows][there[rows]]


def _at_once(parts: Iterator[tuple[Hashes, Ints]]) -> Iterator[tuple[Hashes, Ints]]:
    pairs = list(parts)
    if pairs:
        yield np.concatenate([keys for keys, _ in pairs]), np.concatenate([rows for _, rows in pairs])


@njit(cache=True, nogil=True)
def _join(leader: Array, one: int, two: int) -> None:
    first, second = leader_of(leader, one), leader_of(leader, two)
    leader[max(first, second)] = min(first, second)


@njit(cache=True, nogil=True)
def _join_equal(keys: Array, examples: Array, leader: Array) -> None:
    """Join the examples of equal keys."""
    first = first_places(keys)
    for i in range(len(keys)):
        if first[i] != i:
            _join(leader, examples[i], examples[first[i]])


@njit(cache=True, nogil=True)
def _join_units(units: Array, blank: Array, examples: Array, first: Array, leader: Array) -> None:
    """Join the examples of equal units; `blank` is empty where no row is."""
    for row in range(len(units)):
        if len(blank) and blank[row]:
            continue
        unit = units[row]
        if first[unit] < 0:
            first[unit] = examples[row]
        else:
            _join(leader, examples[row], first[unit])


@njit(cache=True, nogil=True)
def _number(leader: Array) -> None:
    for i in range(len(leader)):
        leader[i] = leader_of(leader, i)
    used = 0
    for i in range(len(leader)):
        if leader[i] == i:
            leader[i] = used
            used += 1
        else:
            leader[i] = leader[leader[i]]
