"""Sample logs of lm-evaluation-harness: `samples_<task>_<time>.jsonl`, written by `--log_samples`.

One line per document and filter, with `doc_id` (its row, from 0), `doc` (the row itself), `target` (the right
answer), `filtered_resps` (what is scored: one [log-likelihood, is_greedy] per answer for multiple choice, else
the text generated) and `filter` (which post-processing was used).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.files.formats import content, format_of
from cuecard.errors import InputError
from cuecard.probes.formats.settling import Given

_MARKS = ("doc_id", "filtered_resps")
#: How a file of samples is called: samples_<task>_<time>.
_NAMED = re.compile(r"^samples_(.+?)(?:_\d{4}-\d{2}-\d{2}T.*)?$")
#: Values a filter writes where it found no answer in the text.
_NO_ANSWER = frozenset({"", "[invalid]"})


def is_harness_log(path: Path) -> bool:
    """Return whether a file's first line is a sample of lm-evaluation-harness."""
    named = format_of(path)
    if named is None or named[0] != "jsonl":
        return False
    data, _ = content(path, named[1], allow_cut=True)
    first = data[: data.find(b"\n")] if b"\n" in data else data
    return all(f'"{mark}"'.encode() in first for mark in _MARKS)


def read_harness_log(path: Path, data: Instances) -> Given:
    """Return the answers of a sample log; of several filters the first one is taken."""
    samples = _samples(path)
    filters = list(dict.fromkeys(str(sample.get("filter", "none")) for sample in samples))
    notes = []
    if len(filters) > 1:
        samples = [sample for sample in samples if str(sample.get("filter", "none")) == filters[0]]
        notes.append(f"The log has the filters {', '.join(filters)}; the answers of {filters[0]!r} are used.")
    id_column = data.report.recognised.get("id")
    has_ids = id_column is not None and all(id_column in (sample.get("doc") or {}) for sample in samples)
    return Given(
        model=_model(path),
        source=str(path),
        answers=pl.Series([_answer(sample, path) for sample in samples], dtype=pl.String),
        ids=pl.Series([str(sample["doc"][id_column]) for sample in samples]) if has_ids else None,
        rows=None if has_ids else np.array([int(sample["doc_id"]) for sample in samples], dtype=np.int64),
        gold=_targets(samples),
        may_be_unanswered=True,
        notes=tuple(notes),
    )


def _samples(path: Path) -> list[dict[str, Any]]:
    named = format_of(path)
    assert named is not None
    lines = content(path, named[1])[0].splitlines()
    samples = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            sample = json.loads(line)
            missing = [mark for mark in _MARKS if mark not in sample]
        except (ValueError, TypeError) as error:
            raise InputError(f"{path}: line {number:,} is not JSON ({error}); write the log again.") from None
        if missing:
            raise InputError(
                f"{path}: line {number:,} lacks {missing[0]!r}, which every sample of a log has; "
                "write the log again with --log_samples."
            )
        samples.append(sample)
    return samples


def _answer(sample: dict[str, Any], path: Path) -> str | None:
    """Return the answer of a sample: the likeliest of several, or the text that was generated."""
    responses = sample["filtered_resps"]
    if isinstance(responses, list) and responses and isinstance(responses[0], list | tuple):
        try:
            likelihoods = [float(response[0]) for response in responses]
        except (TypeError, ValueError, IndexError):
            raise InputError(
                f"{path}: the responses of doc_id {sample['doc_id']} are no log-likelihoods."
            ) from None
        if np.isnan(likelihoods).any():
            raise InputError(f"{path}: a log-likelihood of doc_id {sample['doc_id']} is not a number.")
        return str(int(np.argmax(likelihoods)))
    text = responses[0] if isinstance(responses, list) and responses else responses
    answer = str(text).strip() if text is not None else ""
    return None if answer.lower() in _NO_ANSWER else answer


def _targets(samples: list[dict[str, Any]]) -> pl.Series | None:
    targets = [sample.get("target") for sample in samples]
    if any(target is None or isinstance(target, list | dict) for target in targets):
        return None
    return pl.Series([str(target) for target in targets])


def _model(path: Path) -> str:
    """Return the folder the harness puts a model's logs into, or the task that the file is named after."""
    folder = path.resolve().parent.name
    if "__" in folder:
        return folder.replace("__", "/")
    return _NAMED.sub(r"\1", path.name.split(".")[0])
