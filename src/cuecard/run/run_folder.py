"""The folder of a training run: what it holds, whether it is finished, and that it is this run's and no other's."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from cuecard._version import __version__
from cuecard.cache import content_key
from cuecard.data import Instances
from cuecard.errors import CueCardError, InputError, UsageError
from cuecard.limits import check_folder
from cuecard.models import TextModel
from cuecard.models.recipe import Recipe
from cuecard.models.saved import load_model
from cuecard.writing import locked, made_folders, write_json, write_whole

if TYPE_CHECKING:
    from cuecard.run.training import Trained


RUN, METRICS, DYNAMICS = "run.json", "metrics.json", "dynamics.parquet"
PREDICTIONS = "predictions_{split}.parquet"
CHECKPOINT = "checkpoint"


def run_key(recipe: Recipe, data: Instances, weights: str, *, dynamics: bool) -> str:
    """Return a hash of everything that a run depends on; the same command on the same data has the same."""
    return content_key(
        {
            **recipe.lasting_contents,
            "data": data.fingerprint,
            "labels": list(data.labels),
            "weights": weights,
            "dynamics": dynamics,
            "version": __version__,
        }
    )


def check_run_folder(folder: Path, inputs: Iterable[object] = ()) -> None:
    """Raise if no run can be written to a folder, or if it holds anything but a run; no data is read for that."""
    check_folder(folder, (RUN, METRICS, "*.json", "*.parquet", "*.safetensors"), inputs=inputs)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / RUN).exists():
        raise UsageError(f"{folder} contains other files: name a new or empty folder with --out.")


class RunFolder:
    """A folder that belongs to one run.

    `run.json` says which, from the beginning; `checkpoint/` holds the state of a run that continues; `metrics.json` is
    written last, so a folder that has it is finished. A run that ends in an error before it learned anything leaves
    no folder behind.
    """

    def __init__(self, folder: Path, key: str, recipe: Recipe) -> None:
        self.folder, self.key, self.recipe = folder, key, recipe
        self._new = False
        self._lock = ExitStack()

    @property
    def checkpoint(self) -> Path:
        """Where the state of the run is kept while it continues."""
        return self.folder / CHECKPOINT

    @property
    def finished(self) -> bool:
        """Whether everything has been written."""
        return (self.folder / METRICS).is_file()

    def __enter__(self) -> Self:
        self._check()
        self._new = not self.folder.exists()
        with made_folders(self.folder), ExitStack() as held:
            # A run can take hours: a second one of the same folder is told so at once.
            held.enter_context(locked(self.folder, patience=0))
            write_json(self.folder / RUN, {"key": self.key, **self.recipe.contents, "version": __version__})
            self._lock = held.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        begun = self.checkpoint.is_dir() and any(self.checkpoint.iterdir())
        if isinstance(error, CueCardError) and not begun and not self.finished:
            if self._new:
                shutil.rmtree(self.folder, ignore_errors=True)
            else:
                (self.folder / RUN).unlink(missing_ok=True)
        self._lock.close()

    def _check(self) -> None:
        if not self.folder.exists():
            return
        check_run_folder(self.folder)
        try:
            other_run = json.loads((self.folder / RUN).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise InputError(f"{self.folder / RUN} cannot be read ({error}); choose another --out.") from None
        if not isinstance(other_run, dict):
            raise InputError(f"{self.folder / RUN} does not describe a run; choose another --out.")
        if other_run.get("key") != self.key:
            raise UsageError(
                f"{self.folder} contains another run (model {other_run.get('model')!r}, condition "
                f"{other_run.get('condition')!r}, {self._difference(other_run)}): choose another --out, or delete "
                "that folder."
            )

    def _difference(self, other_run: Mapping[str, Any]) -> str:
        """Return what is not the same as in the run that the folder holds."""
        mine = self.recipe.contents
        if other_run.get("version") != __version__:
            return f"of CueCard {other_run.get('version')}"
        other = other_run.get("parameters") or {}
        changed = [
            f"{name} {other.get(name)} instead of {value}"
            for name, value in mine["parameters"].items()
            if other.get(name) != value
        ]
        if not changed and other_run.get("outside") != mine.get("outside"):
            return "of a checkpoint whose files have changed since"
        return ", ".join(changed) or "other data, weights or options"

    def write(
        self,
        model: TextModel,
        predictions: Mapping[str, pl.DataFrame],
        metrics: Mapping[str, object],
        dynamics: pl.DataFrame | None,
    ) -> None:
        """Write everything, the metrics last, and drop the checkpoint."""
        try:
            model.save(self.folder)
            for split, table in predictions.items():
                write_whole(self.folder / PREDICTIONS.format(split=split), table.write_parquet)
            if dynamics is not None:
                write_whole(self.folder / DYNAMICS, dynamics.write_parquet)
            write_json(self.folder / METRICS, dict(metrics))
        except OSError as error:
            raise InputError(
                f"{self.folder}: the model cannot be written ({error.strerror}); run the command again once it can."
            ) from None
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def read(self) -> Trained:
        """Return what a finished run has written."""
        from cuecard.run.training import Trained

        try:
            metrics = json.loads((self.folder / METRICS).read_text(encoding="utf-8"))
            predictions = {
                split: pl.read_parquet(self.folder / PREDICTIONS.format(split=split))
                for split in metrics["splits"]
            }
            kept = self.folder / DYNAMICS
            dynamics = pl.read_parquet(kept) if kept.exists() else None
        except (OSError, ValueError, KeyError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"{self.folder} contains a finished run that cannot be read ({error}); delete the folder to train "
                "again."
            ) from None
        return Trained(load_model(self.folder), predictions, metrics, dynamics, self.folder, True)
