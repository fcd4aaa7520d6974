"""The state of a training run on disk, so that a killed run resumes where it was."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from cuecard.errors import InputError, UsageError
from cuecard.models.saved import read_json
from cuecard.writing import write_json, write_whole

FORMAT = 1
Tensors = dict[str, Any]


@dataclass(frozen=True)
class Checkpoint:
    """A folder for the state of one run.

    `checkpoint.json` holds what fits JSON and names the file of tensors that belongs to it. It is replaced last,
    so that at any moment the folder holds one whole state, the newest or the one before.

    Args:
        folder: where the state lies.
        identity: what the run is of; a state of anything else is refused.
    """

    folder: Path
    identity: dict[str, Any]

    @property
    def _index(self) -> Path:
        return self.folder / "checkpoint.json"

    def begun(self) -> bool:
        """Return whether there is a state to resume from; raise if it is of another run."""
        if not self._index.is_file():
            return False
        self._compare(read_json(self._index))
        return True

    def read(self) -> tuple[Tensors, dict[str, Any]] | None:
        """Return the tensors and the progress of the run so far, or None if it has not begun."""
        if not self.begun():
            return None
        saved = read_json(self._index)
        file = self.folder / str(saved.get("state"))
        try:
            return load_file(file), saved["progress"]
        except (OSError, SafetensorError, KeyError) as error:
            raise InputError(
                f"The checkpoint in {self.folder} is damaged ({error}): delete the folder to retrain."
            ) from None

    def _compare(self, description: dict[str, Any]) -> None:
        """Raise if the state belongs to another run, and say in what they differ."""
        theirs = description.get("identity") if description.get("format") == FORMAT else None
        if not isinstance(theirs, dict):
            raise InputError(
                f"{self._index} is not a checkpoint of this version: delete {self.folder} or choose another folder."
            )
        differing = sorted(
            key for key in theirs.keys() | self.identity.keys() if theirs.get(key) != self.identity.get(key)
        )
        if differing:
            key = differing[0]
            raise UsageError(
                f"The checkpoint in {self.folder} belongs to another run ({key} was {_short(theirs.get(key))}, "
                f"now {_short(self.identity.get(key))}): choose another folder, or delete it to retrain."
            )

    def write(self, tensors: Tensors, progress: dict[str, Any]) -> None:
        """Write a state, then drop the one before."""
        name = f"state-{progress['epoch']}-{progress['batch']}-{progress['batch_size']}.safetensors"
        write_whole(self.folder / name, lambda staged: save_file(tensors, staged))
        write_json(
            self._index,
            {"format": FORMAT, "identity": self.identity, "state": name, "progress": progress},
        )
        for old in self.folder.glob("state-*.safetensors"):
            if old.name != name:
                old.unlink(missing_ok=True)
        for left_over in self.folder.glob(".state-*.safetensors"):
            left_over.unlink(missing_ok=True)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def kept(prefix: str, state: Tensors) -> Tensors:
    """Return copies of tensors under a prefix, on the CPU and sharing no memory, as safetensors want them."""
    return {
        f"{prefix}{name}": value.detach().to("cpu", copy=True).contiguous() for name, value in state.items()
    }


def under(prefix: str, tensors: Tensors) -> Tensors:
    """Return the tensors under a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def optimiser_tensors(optimiser: Any) -> Tensors:
    """Return the state of an optimiser as named tensors: parameter number, a dot, the entry's name."""
    return {
        f"{number}.{name}": torch.as_tensor(value)
        for number, entries in optimiser.state_dict()["state"].items()
        for name, value in entries.items()
    }


def restore_optimiser(optimiser: Any, tensors: Tensors) -> None:
    """Give an optimiser the state that `optimiser_tensors` returned."""
    state: dict[int, Tensors] = {}
    for key, value in tensors.items():
        number, name = key.split(".", 1)
        state.setdefault(int(number), {})[name] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
