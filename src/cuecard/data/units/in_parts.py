"""Texts in parts, as hashes of their words: what is to be known of them is found part by part, here or elsewhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from cuecard.data.units.buckets import Hashes
from cuecard.stats.arrays import Ints

Array = npt.NDArray[Any]
#: Records of one bucket, by name.
Records = Mapping[str, Array]
S = TypeVar("S")
R = TypeVar("R")


class Words(NamedTuple):
    """Some texts: the hash of each, and the hashes of its words in compressed rows."""

    whole: Hashes
    words: Hashes
    starts: Ints


#: Returns the records of a part by the number of their bucket; the second argument is what belongs to this part alone.
Split = Callable[[Words, Any], Iterable[tuple[int, Records]]]


class Texts(Protocol):
    """All texts, in parts; what is done with them may be done on several machines."""

    def __len__(self) -> int:
        """Return the number of texts."""

    def hashes(self) -> Iterator[Hashes]:
        """Yield the hashes of texts, part by part, in order."""

    def each(self, function: Callable[[Words, S], R], shared: S) -> Iterator[R]:
        """Yield what a function returns for every part, in any order."""

    def divided(
        self, split: Split, own: Iterable[Any], n: int, found: Callable[[Records], R], folder: Path
    ) -> Iterator[R]:
        """Yield what a function returns for the records of each of n buckets, in the order of the buckets.

        `split` returns the records of a part by bucket, and `own` has its second argument for every part. Records of a
        bucket are in the order of parts; one without records is left out. `folder` does not exist before and after.
        """


@dataclass(frozen=True)
class TextsHere:
    """Texts that this machine goes through, one part at a time; records are in files until their bucket is read.

    Attributes:
        parts: goes through all parts, as often as it is called.
        size: the number of texts.
        wholes: goes through their hashes.
    """

    parts: Callable[[], Iterator[Words]]
    size: int
    wholes: Callable[[], Iterator[Hashes]]

    def __len__(self) -> int:
        """Return the number of texts."""
        return self.size

    def hashes(self) -> Iterator[Hashes]:
        """Yield the hashes of texts, part by part."""
        return self.wholes()

    def each(self, function: Callable[[Words, S], R], shared: S) -> Iterator[R]:
        """Yield what a function returns for every part."""
        return (function(part, shared) for part in self.parts())

    def divided(
        self, split: Split, own: Iterable[Any], n: int, found: Callable[[Records], R], folder: Path
    ) -> Iterator[R]:
        """Yield what a function returns for the records of every bucket."""
        folder.mkdir(parents=True)
        kinds: dict[str, np.dtype[Any]] = {}
        for argument, part in zip(own, self.parts(), strict=False):
            for bucket, records in split(part, argument):
                for name, values in records.items():
                    kinds[name] = values.dtype
                    with (folder / f"{bucket}.{name}").open("ab") as file:
                        values.tofile(file)
        for bucket in range(n):
            places = {name: folder / f"{bucket}.{name}" for name in kinds}
            there = {name: place for name, place in places.items() if place.is_file()}
            if there:
                records = {name: np.fromfile(place, dtype=kinds[name]) for name, place in there.items()}
                for place in there.values():
                    place.unlink()
                yield found(records)
        shutil.rmtree(folder)
