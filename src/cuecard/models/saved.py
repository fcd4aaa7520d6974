"""Models on disk: `model.json` says what a folder holds, safetensors hold the numbers, nothing is unpickled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cuecard.errors import InputError, UsageError
from cuecard.models.text_model import MODELS, TextModel
from cuecard.writing import write_json, write_whole

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


def file_digest(file: Path) -> str:
    """Return a hash of a file's content, which is read again where it may have changed."""
    status = file.stat()
    return _digest_of(file, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=64)
def _digest_of(file: Path, size: int, changed: int) -> str:
    del size, changed  # of the same file read before
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "blake2b").hexdigest()


#: Arrays by name.
Arrays = dict[str, npt.NDArray[Any]]


def write_arrays(path: Path, arrays: Arrays, metadata: dict[str, str] | None = None) -> None:
    """Write named arrays to a file, which appears whole or not at all."""
    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    write_whole(path, lambda staged: save_file(contiguous, staged, metadata=metadata))


def read_arrays(path: Path) -> Arrays:
    """Return the named arrays of a file that `write_arrays`, or any writer of safetensors, has written."""
    try:
        arrays: Arrays = load_file(path)
    except OSError as error:
        raise InputError(f"{path}: the model's numbers cannot be read ({error.strerror or error}).") from None
    except (SafetensorError, KeyError, ValueError, TypeError):
        raise InputError(f"{path} is damaged or not a safetensors file: retrain the model.") from None
    return arrays


def under(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays under a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def expected(arrays: Arrays, name: str, dtype: npt.DTypeLike, *shape: int | None) -> npt.NDArray[Any]:
    """Return an array that has this type and shape (None: any length), or raise a ValueError that says what it has."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        length in (None, actual) for length, actual in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        expected_shape = "×".join("any" if length is None else str(length) for length in shape)
        has = "×".join(map(str, array.shape))
        raise ValueError(f"{name} is {has} of {array.dtype} instead of {expected_shape} of {np.dtype(dtype)}")
    return array


@dataclass(frozen=True)
class Checkpoint:
    """A folder for the state of one training run, so that a killed run resumes where it was.

    `checkpoint.json` holds what fits JSON and names the file of arrays that belongs to it. It is replaced last,
    so that at any moment the folder holds one whole state, the newest or the one before.

    Args:
        folder: where the state lies.
        identity: what the run is of; a state of anything else is refused.
    """

    folder: Path
    identity: Mapping[str, object]

    @property
    def _index(self) -> Path:
        return self.folder / "checkpoint.json"

    def begun(self) -> bool:
        """Return whether there is a state to resume from; raise if it is of another run."""
        if not self._index.is_file():
            return False
        identity = read_json(self._index).get("identity")
        if not isinstance(identity, dict):
            raise self.damaged(f"{self._index.name} does not say of which run it is")
        for key in sorted(identity.keys() | self.identity.keys()):
            before, now = identity.get(key), self.identity.get(key)
            if before != now:
                raise UsageError(
                    f"The checkpoint in {self.folder} belongs to another run ({key} was {_short(before)}, now "
                    f"{_short(now)}): choose another folder, or delete it to retrain."
                )
        return True

    def read(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Return the arrays and the progress of the run so far, or None if it has not begun."""
        if not self.begun():
            return None
        saved = read_json(self._index)
        name, progress = saved.get("state"), saved.get("progress")
        if not isinstance(name, str) or not isinstance(progress, dict):
            raise self.damaged(f"{self._index.name} has no state or no progress")
        return read_arrays(self.folder / name), progress

    def damaged(self, what: object) -> InputError:
        """Return the error for a state that a run cannot resume from."""
        return InputError(
            f"The checkpoint in {self.folder} is damaged ({what}): delete the folder to retrain."
        )

    def write(self, name: str, arrays: Arrays, progress: Mapping[str, object]) -> None:
        """Write a state under a name of its own, then delete the one before."""
        file = self.folder / f"state-{name}.safetensors"
        write_arrays(file, arrays)
        write_json(self._index, {"identity": self.identity, "state": file.name, "progress": progress})
        for left_over in (
            *self.folder.glob("state-*.safetensors"),
            *self.folder.glob(".state-*.safetensors"),
        ):
            if left_over != file:
                left_over.unlink(missing_ok=True)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
