"""Eval logs of Inspect: JSON (`--log-format json`), or `.eval`, which the package inspect_ai reads.

The log has `eval` (with `task` and `model`), `status` and `samples`; a sample has `id`, `epoch`, `choices`,
`target` and `scores`, whose `answer` is what the scorer took for the model's answer. Where the model was asked for
log-probabilities (`--logprobs --top-logprobs 20`), `output` has those of every token that it wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from cuecard.data import Instances
from cuecard.data.files.formats import content
from cuecard.data.files.guard import guarded
from cuecard.documents import checked, parse_json
from cuecard.errors import InputError
from cuecard.probes.formats.letter_probabilities import Place, in_order_of_choices, letter_probabilities
from cuecard.probes.formats.settling import Unmatched
from cuecard.stats.arrays import Floats
from cuecard.wording import plural

_REMEDY = "write the log again"


class _Read(BaseModel):
    """What is read of a log; other fields may be anything."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Score(_Read):
    answer: str | bool | None = None


class _Listed(_Read):
    token: str
    logprob: float | None = None


class _Token(_Listed):
    top_logprobs: list[_Listed] | None = None


class _Logprobs(_Read):
    content: list[_Token] | None = None


class _Written(_Read):
    logprobs: _Logprobs | None = None


class _Output(_Read):
    choices: list[_Written] | None = None


class _Sample(_Read):
    id: str
    epoch: int = 1
    choices: list[str] | None = None
    target: str | list[str] | None = None
    scores: dict[str, _Score | None] | None = None
    output: _Output | None = None

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
        return (self.choices or [])[self.letters.index(letter)] if self._is_letter(letter) else answer

    @property
    def letters(self) -> str:
        """The letters of the choices."""
        return ascii_uppercase[: len(self.choices or [])]

    def _is_letter(self, text: str) -> bool:
        return len(text) == 1 and text in self.letters

    @property
    def places(self) -> list[Place]:
        """The tokens that the model wrote, each with the others that were likely there."""
        written = self.output.choices[0].logprobs if self.output and self.output.choices else None
        tokens = (written.content if written else None) or []
        return [
            Place(
                token.token,
                [
                    (one.token, one.logprob)
                    for one in (token, *(token.top_logprobs or ()))
                    if one.logprob is not None
                ],
            )
            for token in tokens
        ]

    def probabilities(self) -> list[float] | None:
        """Return the share of probability of every choice; None where the log does not tell."""
        letter = (self.answer() or "").strip(" ().:").upper()
        if not self._is_letter(letter) or len(self.letters) < len(self.choices or []):
            return None
        return letter_probabilities(self.places, self.letters, letter)


class _Evaluation(_Read):
    model: str | None = None


class _Log(_Read):
    status: str = "success"
    eval: _Evaluation | None = None
    samples: Annotated[list[_Sample], Field(min_length=1)]


def read_inspect_log(path: Path, data: Instances) -> Unmatched:
    """Return the answers of an eval log, those of the first epoch, with probabilities where it has them."""
    log: _Log = checked(_Log, _document(path), str(path), _REMEDY)
    samples = log.samples
    notes = []
    epochs = sorted({sample.epoch for sample in samples})
    if len(epochs) > 1:
        samples = [sample for sample in samples if sample.epoch == epochs[0]]
        notes.append(f"The log has {len(epochs)} epochs; the answers of the first are used.")
    if log.status != "success":
        notes.append(f"The log's status is {log.status!r}, not 'success' (inspect eval-retry completes it).")
    probabilities, unread = _probabilities(samples, data)
    notes += unread
    targets = [sample.label(sample.right()) for sample in samples]
    return Unmatched(
        model=(log.eval.model if log.eval else None) or path.stem,
        source=str(path),
        answers=pl.Series([sample.label(sample.answer()) for sample in samples], dtype=pl.String),
        ids=pl.Series([sample.id for sample in samples]),
        gold=pl.Series(targets) if all(target is not None for target in targets) else None,
        probabilities=probabilities,
        may_be_unanswered=True,
        notes=tuple(notes),
    )


def _probabilities(samples: Sequence[_Sample], data: Instances) -> tuple[Floats | None, list[str]]:
    """Return the probabilities of all choices, None where they are not in the log for every sample; and why."""
    if not any(sample.places for sample in samples):
        return None, []
    read = [(sample.id, sample.choices or [], sample.probabilities()) for sample in samples]
    told = [(name, choices, shares) for name, choices, shares in read if shares is not None]
    if len(told) < len(read):
        lost = f"{plural(len(read) - len(told), 'sample')} of {len(read):,}"
        return None, [
            f"Log-probabilities of the scored letters are missing for {lost}; those of this log are not used."
        ]
    ordered = in_order_of_choices(told, data)
    if ordered is None:
        return None, [
            "The samples' choices are not those of the data, so the log-probabilities of this log are not used."
        ]
    return ordered, []


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
