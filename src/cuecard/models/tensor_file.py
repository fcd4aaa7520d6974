"""Arrays in the safetensors format, which holds numbers only, so that nothing in a file can run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cuecard.errors import InputError
from cuecard.writing import write_whole

Arrays = Mapping[str, npt.NDArray[Any]]


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write named arrays to a file, which appears whole or not at all."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_whole(path, lambda staged: save_file(contiguous, staged))


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the named arrays of a file that `write_arrays`, or any writer of safetensors, has written."""
    try:
        arrays: dict[str, npt.NDArray[Any]] = load_file(path)
    except OSError as error:
        raise InputError(f"{path}: the model's numbers cannot be read ({error.strerror or error}).") from None
    except (SafetensorError, KeyError, ValueError, TypeError):
        raise InputError(f"{path} is damaged or not a safetensors file: retrain the model.") from None
    return arrays


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
