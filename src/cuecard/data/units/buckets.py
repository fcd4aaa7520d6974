"""Records that do not fit in memory: divided by hash into files that are read one after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats.arrays import Array, Ints

Hashes = npt.NDArray[np.uint64]

#: Records that are read at a time, about.
RECORDS = 1 << 21
#: The most files: each takes a few of the records that are added at a time.
MOST_BITS = 12

_ROW = np.dtype([("key", np.uint64), ("row", np.int64)])


def bucket_bits(expected: int) -> int:
    """Return how many of the first bits of a random number divide records into buckets of about `RECORDS`."""
    return min(MOST_BITS, (max(expected - 1, 0) // RECORDS).bit_length())


def by_first_bits(numbers: Hashes, records: Array, bits: int) -> Iterator[tuple[int, Array]]:
    """Yield the records of every bucket: those whose random numbers have the same first bits, as they stand."""
    if not bits:
        yield 0, records
        return
    bucket = (numbers >> np.uint64(64 - bits)).astype(np.uint16)
    order = np.argsort(bucket, kind="stable")  # 16 bits: a radix sort
    ends = np.cumsum(np.bincount(bucket, minlength=1 << bits))
    records = records[order]
    for i in np.flatnonzero(np.diff(ends, prepend=0)):
        yield int(i), records[ends[i - 1] if i else 0 : ends[i]]


def repeated(numbers: Hashes, bits: int) -> Ints:
    """Return the places of all numbers of one bucket that occur more than once, and of very few others."""
    numbers = np.ascontiguousarray(numbers)
    # The first bits are those of all numbers here, and tell nothing apart.
    apart = numbers << np.uint64(bits) | numbers >> np.uint64(64 - bits) if bits else numbers
    return _native.repeated(apart)


class Buckets:
    """Records with a random number each, in files by the first bits of that number.

    Equal numbers are in one file, and those of a file are below those of the next. Within a file, records are in the
    order in which they were added.
    """

    def __init__(self, folder: Path, dtype: npt.DTypeLike, expected: int) -> None:
        self._folder, self._dtype = folder, np.dtype(dtype)
        self.bits = bucket_bits(expected)
        folder.mkdir(parents=True)

    def add(self, numbers: Hashes, records: Array) -> None:
        """Add records with their random numbers."""
        for bucket, own in by_first_bits(numbers, records, self.bits):
            with self._place(bucket).open("ab") as file:
                own.tofile(file)

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
        return _native.rising_order(np.ascontiguousarray(numbers) << np.uint64(self.bits))

    def _place(self, bucket: int) -> Path:
        return self._folder / f"{bucket:04d}"


def number_in_order(keys: Iterable[Hashes], numbers: Ints, folder: Path | None = None) -> None:
    """Write the numbers that equal keys share, 0, 1, 2, … in order of first occurrence, into `numbers`.

    Keys are random, and come in parts; with a folder, the memory that this takes does not grow with their number.
    """
    if folder is None or not bucket_bits(len(numbers)):
        every = [np.empty(0, np.uint64), *keys]
        numbers[:] = _native.first_places(np.concatenate(every))
        _native.number_units(numbers)
        return
    buckets = Buckets(folder / "numbering", _ROW, len(numbers))
    start = 0
    for part in keys:
        records = np.empty(len(part), dtype=_ROW)
        records["key"], records["row"] = part, np.arange(start, start + len(part))
        buckets.add(part, records)
        start += len(part)
    for records in buckets:
        rows = records["row"]
        numbers[rows] = rows[_native.first_places(np.ascontiguousarray(records["key"]))]
    _native.number_units(numbers)
