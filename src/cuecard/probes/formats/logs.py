"""Logs of evaluation tools: lm-evaluation-harness and Inspect.

The harness writes `samples_<task>_<time>.jsonl` with `--log_samples`: one line per document and filter, with `doc_id`
(its row, from 0), `doc` (the row itself), `target` (the right answer), `filtered_resps` (what is scored: one
[log-likelihood, is_greedy] per answer for multiple choice, else the text generated) and `filter` (which
post-processing was used).

Inspect writes JSON (`--log-format json`), or `.eval`, which the package inspect_ai reads: `eval` (with `task` and
`model`), `status` and `samples`; a sample has `id`, `epoch`, `choices`, `target` and `scores`, whose `answer` is what
the scorer took for the model's answer. Where the model was asked for log-probabilities (`--logprobs
--top-logprobs 20`), `output` has those of every token that it wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from cuecard.data import Instances
from cuecard.data.reading.formats import content, format_of, guarded
from cuecard.documents import checked, parse_json
from cuecard.errors import InputError
from cuecard.probes.formats.answer_parsing import (
    Place,
    in_order_of_choices,
    letter_probabilities,
    places_shown,
)
from cuecard.probes.formats.matching import RawPredictions
from cuecard.stats.arrays import Floats, Ints
from cuecard.wording import plural

_MARKS = ("doc_id", "filtered_resps")
#: How a file of samples is called: samples_<task>_<time>.
_NAMED = re.compile(r"^samples_(.+?)(?:_\d{4}-\d{2}-\d{2}T.*)?$")
#: Values a filter writes where it found no answer in the text.
_NO_ANSWER = frozenset({"", "[invalid]"})
_LOG_SAMPLES = "write the log again with --log_samples"

#: A log-likelihood, and what else the harness says of a response.
_ScoredResponse = tuple[FiniteFloat] | tuple[FiniteFloat, Any]
_Value = str | bool | None


class _HarnessSample(BaseModel):
    """What is read of a line; other fields may be anything."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    doc_id: Annotated[int, Field(ge=0, lt=2**62)]
    filtered_resps: list[_ScoredResponse] | list[_Value] | _Value
    doc: dict[str, Any] | None = None
    target: Any = None
    filter: str = "none"

    def log_likelihoods(self) -> list[float] | None:
        """Return the log-likelihood of every choice, None where a text was generated."""
        scored = self.filtered_resps if isinstance(self.filtered_resps, list) else []
        values = [float(response[0]) for response in scored if isinstance(response, tuple)]
        return values if len(values) > 1 and len(values) == len(scored) else None

    def choices(self) -> list[str]:
        """Return the choices of the document, where it lists them as texts."""
        listed = (self.doc or {}).get("choices")
        texts = listed.get("text") if isinstance(listed, dict) else listed
        return [str(text) for text in texts] if isinstance(texts, list) else []

    def answer(self) -> str | None:
        """Return the answer: the likeliest of several, or the text that was generated."""
        responses = self.filtered_resps
        if isinstance(responses, list) and responses and isinstance(responses[0], tuple):
            return str(int(np.argmax([response[0] for response in responses])))
        text = responses[0] if isinstance(responses, list) and responses else responses
        answer = str(text).strip() if text is not None and not isinstance(text, list) else ""
        return None if answer.lower() in _NO_ANSWER else answer


def is_harness_log(path: Path) -> bool:
    """Return whether a file's first line is a sample of lm-evaluation-harness."""
    named = format_of(path)
    if named is None or named[0] != "jsonl":
        return False
    data, _ = content(path, named[1], allow_cut=True)
    first = data[: data.find(b"\n")] if b"\n" in data else data
    return all(f'"{mark}"'.encode() in first for mark in _MARKS)


def read_harness_log(path: Path, data: Instances) -> RawPredictions:
    """Return the answers of a sample log; of several filters the first one is taken."""
    samples = _samples(path)
    filters = list(dict.fromkeys(sample.filter for sample in samples))
    notes = []
    if len(filters) > 1:
        samples = [sample for sample in samples if sample.filter == filters[0]]
        notes.append(f"The log has the filters {', '.join(filters)}; the answers of {filters[0]!r} are used.")
    ids = _ids(samples, data.report.recognised.get("id"))
    answers, gold = pl.Series([sample.answer() for sample in samples], dtype=pl.String), _targets(samples)
    probabilities = _harness_probabilities(samples, data)
    names = _row_names(samples, data) if ids is None else ids.to_list()
    shown = places_shown(
        [(name, sample.choices()) for name, sample in zip(names, samples, strict=True)], data
    )
    if shown is not None and (shown[:, 1:] < shown[:, :-1]).any():
        # Numbers of choices are those of the document, whose choices stand in another order than the data's.
        answers, gold = _renumbered(answers, shown), None if gold is None else _renumbered(gold, shown)
        if probabilities is not None:
            probabilities = _reordered(probabilities, shown)
    return RawPredictions(
        model=_model(path),
        source=str(path),
        answers=answers,
        ids=ids,
        rows=None if ids is not None else np.array([sample.doc_id for sample in samples], dtype=np.int64),
        gold=gold,
        probabilities=probabilities,
        may_be_unanswered=True,
        notes=tuple(notes),
        shown=shown,
    )


def _row_names(samples: Sequence[_HarnessSample], data: Instances) -> list[str]:
    """Return the ids of the examples whose row every document is, where the data has as many as the log."""
    names = (data.test or data).table["example_id"].unique(maintain_order=True).cast(pl.String)
    if len(names) == len(samples) and max(sample.doc_id for sample in samples) < len(names):
        return [names[sample.doc_id] for sample in samples]
    return [str(sample.doc_id + 1) for sample in samples]


def _renumbered(answers: pl.Series, shown: Ints) -> pl.Series:
    """Return numbers of places as numbers of the data's choices; anything else as it is."""
    numbers = answers.cast(pl.Int64, strict=False).to_list()
    texts = [
        text if number is None or not 0 <= number < len(places) else str(places[number])
        for text, number, places in zip(answers.to_list(), numbers, shown, strict=True)
    ]
    return pl.Series(texts, dtype=pl.String)


def _reordered(probabilities: Floats, shown: Ints) -> Floats:
    """Return probabilities by place as those of the data's choices."""
    values = np.zeros_like(probabilities)
    for row, places, shares in zip(values, shown, probabilities, strict=True):
        there = places[: len(shares)] >= 0
        row[places[: len(shares)][there]] = shares[there]
    return values


def _samples(path: Path) -> list[_HarnessSample]:
    named = format_of(path)
    assert named is not None
    samples: list[_HarnessSample] = []
    for number, line in enumerate(content(path, named[1])[0].split(b"\n"), start=1):
        if line.strip():
            where = f"{path}, line {number:,}"
            samples.append(
                checked(_HarnessSample, parse_json(line, where, _LOG_SAMPLES), where, _LOG_SAMPLES)
            )
    return samples


def _ids(samples: list[_HarnessSample], column: str | None) -> pl.Series | None:
    """Return the data's own ids where every document has one."""
    ids = [(sample.doc or {}).get(column) for sample in samples] if column else []
    usable = bool(ids) and all(isinstance(value, str | int) for value in ids)
    return pl.Series([str(value) for value in ids]) if usable else None


def _harness_probabilities(samples: list[_HarnessSample], data: Instances) -> Floats | None:
    """Return how likely every choice is among those of its question, None unless all of them have a log-likelihood."""
    scores = [sample.log_likelihoods() for sample in samples]
    rows = [row for row in scores if row is not None]
    # The labels of pairs and texts are coded in another order by every task of the harness.
    if not data.grouped or len(rows) < len(scores):
        return None
    most = int(data.table["position"].to_numpy().max(initial=0)) + 1
    if max(map(len, rows), default=0) > most:
        return None
    matrix = np.full((len(rows), most), -np.inf)
    for line, row in zip(matrix, rows, strict=True):
        line[: len(row)] = row
    likely = np.exp(matrix - matrix.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def _targets(samples: list[_HarnessSample]) -> pl.Series | None:
    targets = [sample.target for sample in samples]
    if any(target is None or isinstance(target, list | dict) for target in targets):
        return None
    return pl.Series([str(target) for target in targets])


def _model(path: Path) -> str:
    """Return the folder the harness puts a model's logs into, or the task that the file is named after."""
    folder = path.resolve().parent.name
    if "__" in folder:
        return folder.replace("__", "/")
    return _NAMED.sub(r"\1", path.name.split(".")[0])


_WRITE_AGAIN = "write the log again"
#: What the solvers and the scorer of inspect-cuecard write: the order of a sample, or the orders of its scores.
ORDER, ORDERS, PICKS = "cuecard_order", "cuecard_orders", "cuecard_picks"


class _Read(BaseModel):
    """What is read of a log; other fields may be anything."""

    model_config = ConfigDict(coerce_numbers_to_str=True)


class _Score(_Read):
    answer: str | bool | None = None
    metadata: dict[str, Any] | None = None


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


class _InspectSample(_Read):
    id: str
    epoch: int = 1
    choices: list[str] | None = None
    target: str | list[str] | None = None
    scores: dict[str, _Score | None] | None = None
    metadata: dict[str, Any] | None = None
    output: _Output | None = None

    def answer(self) -> str | None:
        """Return what a scorer took for the answer; null where it found none."""
        answers = [
            str(score.answer) for score in (self.scores or {}).values() if score and score.answer is not None
        ]
        return next((answer.strip() for answer in answers if answer.strip()), None)

    def asked_in(self) -> list[tuple[list[int], int]]:
        """Return the orders in which the package inspect-cuecard asked, each with the choice that was picked."""
        for score in (self.scores or {}).values():
            told = (score.metadata if score else None) or {}
            orders, picks = told.get(ORDERS), told.get(PICKS)
            if isinstance(orders, list) and isinstance(picks, list) and len(orders) == len(picks):
                return [
                    ([int(k) for k in order], int(pick)) for order, pick in zip(orders, picks, strict=True)
                ]
        return []

    def shown(self) -> list[str]:
        """Return the choices in the order in which the model saw them."""
        order = (self.metadata or {}).get(ORDER)
        choices = self.choices or []
        if isinstance(order, list) and sorted(order) == list(range(len(choices))):
            return [choices[k] for k in order]
        return choices

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
    samples: Annotated[list[_InspectSample], Field(min_length=1)]


def read_inspect_log(path: Path, data: Instances) -> list[RawPredictions]:
    """Return the answers of an eval log, those of the first epoch, with probabilities where it has them.

    There is one entry, or one per order where the samples were asked in several.
    """
    log: _Log = checked(_Log, inspect_document(path), str(path), _WRITE_AGAIN)
    samples = log.samples
    notes = []
    epochs = sorted({sample.epoch for sample in samples})
    if len(epochs) > 1:
        samples = [sample for sample in samples if sample.epoch == epochs[0]]
        notes.append(f"The log has {len(epochs)} epochs; the answers of the first are used.")
    if log.status != "success":
        notes.append(f"The log's status is {log.status!r}, not 'success' (inspect eval-retry completes it).")
    probabilities, unread = _inspect_probabilities(samples, data)
    notes += unread
    targets = [sample.label(sample.right()) for sample in samples]
    raw = RawPredictions(
        model=(log.eval.model if log.eval else None) or path.stem,
        source=str(path),
        answers=pl.Series([sample.label(sample.answer()) for sample in samples], dtype=pl.String),
        ids=pl.Series([sample.id for sample in samples]),
        gold=pl.Series(targets) if all(target is not None for target in targets) else None,
        probabilities=probabilities,
        may_be_unanswered=True,
        notes=tuple(notes),
        shown=places_shown([(sample.id, sample.shown()) for sample in samples], data),
    )
    return _by_order(raw, samples, data) or [raw]


def _by_order(
    raw: RawPredictions, samples: Sequence[_InspectSample], data: Instances
) -> list[RawPredictions]:
    """Return the answers in each order in which all samples were asked; a sample with fewer is not asked in more."""
    orders = [sample.asked_in() for sample in samples]
    if not all(orders):
        return []
    parts = []
    for number in range(max(map(len, orders))):
        here = [own[number] if number < len(own) else None for own in orders]
        shown = places_shown(
            [
                (sample.id, [(sample.choices or [])[k] for k in (one or own[0])[0]])
                for sample, own, one in zip(samples, orders, here, strict=True)
            ],
            data,
        )
        if shown is None:
            return []
        unasked = np.array([one is None for one in here])
        shown[unasked] = -1
        answers = [
            (sample.choices or [])[one[1]] if one is not None and one[1] >= 0 else None
            for sample, one in zip(samples, here, strict=True)
        ]
        parts.append(
            replace(
                raw,
                answers=pl.Series(answers, dtype=pl.String),
                probabilities=None,
                order=number,
                shown=shown,
                unasked=unasked,
            )
        )
    return parts


def _inspect_probabilities(
    samples: Sequence[_InspectSample], data: Instances
) -> tuple[Floats | None, list[str]]:
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


def inspect_document(path: Path) -> Any:
    """Return a log as the object that its JSON form has."""
    if path.suffix == ".eval":
        return _unpacked(path)
    log = parse_json(content(path, "none")[0], str(path), _WRITE_AGAIN)
    if not isinstance(log, dict) or not isinstance(log.get("samples"), list) or not log["samples"]:
        raise InputError(
            f"{path}: not an Inspect log with samples; give one written with --log-samples, "
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
    return guarded(lambda: read_eval_log(str(path)).model_dump(mode="json"), str(path), _WRITE_AGAIN)
