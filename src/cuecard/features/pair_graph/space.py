"""Where arrays of one number per pair are: in memory, or in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Returns an array of zeros, to be written, in a file of a folder.
Make = Callable[[Path, npt.DTypeLike, tuple[int, ...]], Array]


@dataclass(frozen=True)
class Space:
    """Memory, or a folder whose files hold arrays, which `make` makes."""

    folder: Path | None = None
    make: Make | None = None

    def array(self, dtype: npt.DTypeLike, length: int) -> Array:
        """Return an array of zeros, to be written."""
        if self.folder is None or self.make is None:
            return np.zeros(length, dtype=dtype)
        return self.make(self.folder, dtype, (length,))

    def kept(self, values: Array) -> Array:
        """Return the same numbers, in a file where arrays are in files."""
        if self.folder is None:
            return values
        array = self.array(values.dtype, len(values))
        array[:] = values
        return array

    @contextmanager
    def place(self) -> Iterator[Path | None]:
        """Yield a folder for other files, which are deleted then; None where arrays are in memory."""
        if self.folder is None:
            yield None
            return
        with TemporaryDirectory(dir=self.folder) as folder:
            yield Path(folder)


#: Arrays in memory.
MEMORY = Space()


def whole_type(largest: int) -> type[np.signedinteger[Any]]:
    """Return the smaller type of whole numbers that holds numbers up to the largest."""
    return np.int32 if largest < 1 << 31 else np.int64
