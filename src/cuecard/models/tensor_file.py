"""Arrays in the safetensors format with numpy alone, so that a core install can save and load its models.

The format is public and small: eight bytes that give the length of a JSON header, the header (name → dtype,
shape and place of every array), then the bytes of the arrays. Nothing in it can run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.errors import InputError
from cuecard.models.saved import write_whole

Arrays = Mapping[str, npt.NDArray[Any]]

DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "|u1", "BOOL": "|b1"}
_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write named arrays to a file, which appears whole or not at all."""
    header: dict[str, Any] = {}
    at = 0
    for name, array in arrays.items():
        place = [at, at + array.nbytes]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": place}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # arrays then begin at a multiple of eight

    def write(staged: Path) -> None:
        with staged.open("wb") as opened:
            opened.write(len(text).to_bytes(8, "little") + text)
            for array in arrays.values():
                opened.write(np.ascontiguousarray(array).tobytes())

    write_whole(path, write)


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the named arrays of a file that `write_arrays`, or any writer of safetensors, has written."""
    try:
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        header.pop("__metadata__", None)
        return {name: _array(entry, data, 8 + length) for name, entry in header.items()}
    except OSError as error:
        raise InputError(f"{path}: the model's numbers cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is not a whole safetensors file: train the model again.") from None


def expected(arrays: Arrays, name: str, dtype: npt.DTypeLike, *shape: int | None) -> npt.NDArray[Any]:
    """Return an array that has this type and shape (None: any length), or raise a ValueError that says what it has."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        wanted in (None, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        wanted = "×".join("any" if length is None else str(length) for length in shape)
        has = "×".join(map(str, array.shape))
        raise ValueError(f"{name} is {has} of {array.dtype} instead of {wanted} of {np.dtype(dtype)}")
    return array


def _array(entry: Mapping[str, Any], data: bytes, begin: int) -> npt.NDArray[Any]:
    first, last = entry["data_offsets"]
    shape = entry["shape"]
    flat = np.frombuffer(data[begin + first : begin + last], DTYPES[entry["dtype"]])
    return flat.reshape(shape).copy()
