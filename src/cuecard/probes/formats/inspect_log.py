"""Eval logs of Inspect: JSON (`--log-format json`), or `.eval`, which the package inspect_ai reads.

The log has `eval` (with `task` and `model`), `status` and `samples`; a sample has `id`, `epoch`, `choices`,
`target` and `scores`, whose `answer` is what the scorer took for the model's answer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from cuecard.data.files.formats import content
from cuecard.data.files.guard import guarded
from cuecard.documents import checked, parse_json
from cuecard.errors import InputError
from cuecard.probes.formats.settling import Unmatched

_REMEDY = "write the log again"


class _Read(BaseModel):
    """What is read of a log; other fields may be anything."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Score(_Read):
    answer: str | bool | None = None


class _Sample(_Read):
    id: str
    epoch: int = 1
    choices: list[str] | None = None
    target: str | list[str] | None = None
    scores: dict[str, _Score | None] | None = None

    def answer(self) -> str | None:
        """Return what a scorer took for the answer; null where it found none."""
        answers = [
            str(score.answer) for score in (self.scores or {}).values() if score and score.answer is not None
        ]
        return next((answer.strip() for answer in answers if answer.strip()), None)

    def right(self) -> str | None:
        """Return the right answer, if it is one."""
        if isinstance(self.target, list):
            return self.target[0] if len(self.target) == 1 else None
        return self.target

    def label(self, answer: str | None) -> str | None:
        """Return the text of the choice that a letter stands for, where the sample lists its choices."""
        letter = (answer or "").strip(" ().:").upper()
        choices = self.choices or []
        if len(letter) == 1 and "A" <= letter <= "Z" and ord(letter) - ord("A") < len(choices):
            return choices[ord(letter) - ord("A")]
        return answer


class _Evaluation(_Read):
    model: str | None = None


class _Log(_Read):
    status: str = "success"
    eval: _Evaluation | None = None
    samples: Annotated[list[_Sample], Field(min_length=1)]


def read_inspect_log(path: Path) -> Unmatched:
    """Return the answers of an eval log, those of the first epoch."""
    log: _Log = checked(_Log, _document(path), str(path), _REMEDY)
    samples = log.samples
    notes = []
    epochs = sorted({sample.epoch for sample in samples})
    if len(epochs) > 1:
        samples = [sample for sample in samples if sample.epoch == epochs[0]]
        notes.append(f"The log has {len(epochs)} epochs; the answers of the first are used.")
    if log.status != "success":
        notes.append(f"The log's status is {log.status!r}, not 'success' (inspect eval-retry completes it).")
    targets = [sample.label(sample.right()) for sample in samples]
    return Unmatched(
        model=(log.eval.model if log.eval else None) or path.stem,
        source=str(path),
        answers=pl.Series([sample.label(sample.answer()) for sample in samples], dtype=pl.String),
        ids=pl.Series([sample.id for sample in samples]),
        gold=pl.Series(targets) if all(target is not None for target in targets) else None,
        may_be_unanswered=True,
        notes=tuple(notes),
    )


def _document(path: Path) -> Any:
    """Return a log as the object that its JSON form has."""
    if path.suffix == ".eval":
        return _unpacked(path)
    log = parse_json(content(path, "none")[0], str(path), _REMEDY)
    if not isinstance(log, dict) or not isinstance(log.get("samples"), list) or not log["samples"]:
        raise InputError(
            f"{path}: this is no Inspect log with samples; give one written with --log-samples, "
            "or predictions as .csv, .jsonl or .parquet."
        )
    return log


def _unpacked(path: Path) -> Any:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise InputError(
            f"{path} is a compressed Inspect log: pip install 'cuecard[inspect]' to read it, or write it as JSON with "
            f"inspect log convert {path} --to json --output-dir DIR."
        ) from None
    return guarded(lambda: read_eval_log(str(path)).model_dump(mode="json"), str(path), _REMEDY)
