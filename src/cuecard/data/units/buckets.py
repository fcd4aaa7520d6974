"""Records that do not fit in memory: divided by hash into files that are read one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.data.units import _kernels
from cuecard.stats.arrays import Ints

Array = npt.NDArray[Any]
Hashes = npt.NDArray[np.uint64]

#: Records that are read at a time, about.
RECORDS = 1 << 21
#: The most files: each takes a few of the records that are added at a time.
MOST_BITS = 12

_ROW = np.dtype([("key", np.uint64), ("row", np.int64)])


class Buckets:
    """Records with a random number each, in files by the first bits of that number.

    Equal numbers are in one file, and those of a file are below those of the next. Within a file, records are in the
    order in which they were added.
    """

    def __init__(self, folder: Path, dtype: npt.DTypeLike, expected: int) -> None:
        self._folder, self._dtype = folder, np.dtype(dtype)
        self.bits = min(MOST_BITS, (max(expected - 1, 0) // RECORDS).bit_length())
        folder.mkdir(parents=True)

    def add(self, numbers: Hashes, records: Array) -> None:
        """Add records with their random numbers."""
        if not self.bits:
            self._append(0, records)
            return
        bucket = (numbers >> np.uint64(64 - self.bits)).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")  # 16 bits: a radix sort
        ends = np.cumsum(np.bincount(bucket, minlength=1 << self.bits))
        records = records[order]
        for i in np.flatnonzero(np.diff(ends, prepend=0)):
            self._append(int(i), records[ends[i - 1] if i else 0 : ends[i]])

    def _append(self, bucket: int, records: Array) -> None:
        with self._place(bucket).open("ab") as file:
            records.tofile(file)

    def __iter__(self) -> Iterator[Array]:
        """Yield the records of every file, which is deleted then."""
        for bucket in range(1 << self.bits):
            place = self._place(bucket)
            if place.is_file():
                records = np.fromfile(place, dtype=self._dtype)
                place.unlink()
                yield records
        self._folder.rmdir()

    def order(self, numbers: Hashes) -> Ints:
        """Return the order of rising numbers of one file, equal ones as they stand."""
        order: Ints = _kernels.rising_order(np.ascontiguousarray(numbers) << np.uint64(self.bits))
        return order

    def _place(self, bucket: int) -> Path:
        return self._folder / f"{bucket:04d}"


def number_in_order(keys: Iterable[Hashes], numbers: Ints, folder: Path) -> None:
    """Write the numbers that equal keys share, 0, 1, 2, … in order of first occurrence, into `numbers`.

    Keys are random, and come in parts; the memory that this takes does not grow with their number.
    """
    buckets = Buckets(folder, _ROW, len(numbers))
    start = 0
    for part in keys:
        records = np.empty(len(part), dtype=_ROW)
        records["key"], records["row"] = part, np.arange(start, start + len(part))
        buckets.add(part, records)
        start += len(part)
    for records in buckets:
        order = buckets.order(records["key"])
        rising, rows = records["key"][order], records["row"][order]
        begins = np.ones(len(order), dtype=np.bool_)
        begins[1:] = rising[1:] != rising[:-1]
        numbers[rows] = rows[begins][np.cumsum(begins) - 1]
    _number(numbers)


@njit(cache=True, nogil=True)
def _number(first: Array) -> None:
    """Replace the first row of every row's key by the number of that key; in place."""
    used = 0
    for row in range(len(first)):
        if first[row] == row:
            first[row] = used
            used += 1
        else:
            first[row] = first[first[row]]
