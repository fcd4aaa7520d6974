"""Models on disk: `model.json` says what a folder holds, safetensors hold the numbers, nothing is unpickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cuecard.errors import InputError
from cuecard.models.text_model import MODELS, TextModel
from cuecard.writing import write_whole

DESCRIPTION = "model.json"
WEIGHTS = "model.safetensors"

#: Suffixes under which other programs pickle weights.
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")


def load_model(folder: Path | str) -> TextModel:
    """Return the model that was saved to a folder, whichever kind it is."""
    folder = Path(folder)
    name = read_description(folder).get("model")
    if not isinstance(name, str):
        raise InputError(
            f"{folder / DESCRIPTION} has no key 'model': give a folder that `cuecard train` wrote."
        )
    model: TextModel = MODELS.get(name).load(folder)
    return model


def read_description(folder: Path) -> dict[str, Any]:
    """Return what `model.json` says, or raise if the folder has none that can be read."""
    file = folder / DESCRIPTION
    if not file.is_file():
        raise InputError(
            f"{folder} holds no saved model ({DESCRIPTION}): give a folder that `cuecard train` wrote."
        )
    return read_json(file)


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file, or raise if it is cut short or something else."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read as JSON ({error}).") from None
    if not isinstance(content, dict):
        raise InputError(f"{file} holds no JSON object.")
    return content


def safe_weights(folder: Path) -> Path:
    """Return the file of weights, or raise; pickled weights are refused with the line that converts them."""
    file = folder / WEIGHTS
    if file.is_file():
        return file
    pickled = sorted(path for path in folder.glob("*") if path.suffix in PICKLED)
    if not pickled:
        raise InputError(f"{folder} holds no {WEIGHTS}: the weights are missing.")
    raise InputError(
        f"{folder} holds {pickled[0].name} but no {WEIGHTS}; pickled weights are not loaded because that can run "
        f'code. If you trust the file, convert it in that folder: python -c "import torch, safetensors.torch as s; '
        f"s.save_file({{k: v.clone() for k, v in torch.load('{pickled[0].name}', weights_only=True).items()}}, "
        f"'{WEIGHTS}')\""
    )


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
