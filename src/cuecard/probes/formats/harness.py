"""Sample logs of lm-evaluation-harness: `samples_<task>_<time>.jsonl`, written by `--log_samples`.

One line per document and filter, with `doc_id` (its row, from 0), `doc` (the row itself), `target` (the right
answer), `filtered_resps` (what is scored: one [log-likelihood, is_greedy] per answer for multiple choice, else
the text generated) and `filter` (which post-processing was used).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from cuecard.data import Instances
from cuecard.data.files.formats import content, format_of
from cuecard.documents import checked, parse_json
from cuecard.probes.formats.settling import Unmatched
from cuecard.stats.arrays import Floats

_MARKS = ("doc_id", "filtered_resps")
#: How a file of samples is called: samples_<task>_<time>.
_NAMED = re.compile(r"^samples_(.+?)(?:_\d{4}-\d{2}-\d{2}T.*)?$")
#: Values a filter writes where it found no answer in the text.
_NO_ANSWER = frozenset({"", "[invalid]"})
_REMEDY = "write the log again with --log_samples"

#: A log-likelihood, and what else the harness says of a response.
_Scored = tuple[FiniteFloat] | tuple[FiniteFloat, Any]
_Value = str | bool | None


class _Sample(BaseModel):
    """What is read of a line; other fields may be anything."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    doc_id: Annotated[int, Field(ge=0, lt=2**62)]
    filtered_resps: list[_Scored] | list[_Value] | _Value
    doc: dict[str, Any] | None = None
    target: Any = None
    filter: str = "none"

    def log_likelihoods(self) -> list[float] | None:
        """Return the log-likelihood of every choice, None where a text was generated."""
        scored = self.filtered_resps if isinstance(self.filtered_resps, list) else []
        values = [float(response[0]) for response in scored if isinstance(response, tuple)]
        return values if len(values) > 1 and len(values) == len(scored) else None

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


def read_harness_log(path: Path, data: Instances) -> Unmatched:
    """Return the answers of a sample log; of several filters the first one is taken."""
    samples = _samples(path)
    filters = list(dict.fromkeys(sample.filter for sample in samples))
    notes = []
    if len(filters) > 1:
        samples = [sample for sample in samples if sample.filter == filters[0]]
        notes.append(f"The log has the filters {', '.join(filters)}; the answers of {filters[0]!r} are used.")
    ids = _ids(samples, data.report.recognised.get("id"))
    return Unmatched(
        model=_model(path),
        source=str(path),
        answers=pl.Series([sample.answer() for sample in samples], dtype=pl.String),
        ids=ids,
        rows=None if ids is not None else np.array([sample.doc_id for sample in samples], dtype=np.int64),
        gold=_targets(samples),
        probabilities=_probabilities(samples, data),
        may_be_unanswered=True,
        notes=tuple(notes),
    )


def _samples(path: Path) -> list[_Sample]:
    named = format_of(path)
    assert named is not None
    samples: list[_Sample] = []
    for number, line in enumerate(content(path, named[1])[0].split(b"\n"), start=1):
        if line.strip():
            where = f"{path}, line {number:,}"
            samples.append(checked(_Sample, parse_json(line, where, _REMEDY), where, _REMEDY))
    return samples


def _ids(samples: list[_Sample], column: str | None) -> pl.Series | None:
    """Return the data's own ids where every document has one."""
    ids = [(sample.doc or {}).get(column) for sample in samples] if column else []
    usable = bool(ids) and all(isinstance(value, str | int) for value in ids)
    return pl.Series([str(value) for value in ids]) if usable else None


def _probabilities(samples: list[_Sample], data: Instances) -> Floats | None:
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


def _targets(samples: list[_Sample]) -> pl.Series | None:
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
