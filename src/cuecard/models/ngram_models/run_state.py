"""The state of a fasttext run on disk, so that a killed run resumes where it was."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from cuecard.data import Examples, Instances
from cuecard.errors import InputError, UsageError
from cuecard.models.saved import read_arrays, read_json, write_arrays
from cuecard.writing import write_json

if TYPE_CHECKING:
    from cuecard.models.ngram_models.model import NGramModel

Arrays = dict[str, npt.NDArray[Any]]
History = list[dict[str, Any]]


@dataclass(frozen=True)
class RunState:
    """A folder for the state of one run.

    `checkpoint.json` names the file of arrays that belongs to it and is replaced last, so that at any moment the
    folder holds one whole state, the newest or the one before. `identity` is what the run is of; a state of
    anything else is refused.
    """

    folder: Path
    identity: dict[str, Any]

    @classmethod
    def of(
        cls,
        folder: Path,
        model: NGramModel,
        data: Instances,
        examples: Examples,
        validation: Instances | None,
        *,
        dynamics: bool,
    ) -> RunState:
        """Return the state of a run of a model on data."""
        return cls(
            folder,
            {
                "model": model.name,
                "training data": data.fingerprint,
                "weights": blake2b(examples.example_weights.tobytes(), digest_size=16).hexdigest(),
                "condition": model.condition_,
                "validation data": validation.fingerprint if validation is not None else None,
                "dynamics": dynamics,
                **({} if model.objective is None else {"objective": model.objective.identity}),
                **model.parameters(),
            },
        )

    def read(self) -> tuple[Arrays, History] | None:
        """Return the arrays and the epochs of the run so far, or None if it has not begun."""
        index = self.folder / "checkpoint.json"
        if not index.is_file():
            return None
        saved = read_json(index)
        theirs = saved.get("identity")
        for key, ours in self.identity.items():
            if not isinstance(theirs, dict) or theirs.get(key) != ours:
                was = theirs.get(key) if isinstance(theirs, dict) else None
                raise UsageError(
                    f"The checkpoint in {self.folder} belongs to another run ({key} was {was}, now {ours}): "
                    "choose another folder, or delete it to retrain."
                )
        name, history = saved.get("state"), saved.get("history")
        if not isinstance(name, str) or not isinstance(history, list):
            raise self.damaged(f"{index.name} has no state or no history")
        return read_arrays(self.folder / name), history

    def damaged(self, what: object) -> InputError:
        """Return the error for a state that a run cannot resume from."""
        return InputError(
            f"The checkpoint in {self.folder} is damaged ({what}): delete the folder to retrain."
        )

    def write(self, arrays: Arrays, history: History) -> None:
        """Write a state, then drop the one before."""
        name = f"state-{len(history)}.safetensors"
        write_arrays(self.folder / name, arrays)
        write_json(
            self.folder / "checkpoint.json", {"identity": self.identity, "state": name, "history": history}
        )
        for old in self.folder.glob("state-*.safetensors"):
            if old.name != name:
                old.unlink(missing_ok=True)
