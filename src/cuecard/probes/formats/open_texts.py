"""Answers of models in words: a table with one answer per question, or SQuAD's file of answers by id."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.data import Instances
from cuecard.data.answer_texts import final_answers, final_mark
from cuecard.errors import InputError
from cuecard.probes.examples import check_test
from cuecard.probes.formats.matching import RawPredictions, rows_in_order
from cuecard.probes.predictions import as_split, distinct_names, raw_predictions
from cuecard.wording import plural


@dataclass(frozen=True, eq=False)
class TextAnswers:
    """The answers of one model to the questions that are scored, in their order; null where it gave none."""

    model: str
    texts: pl.Series
    source: str = ""
    notes: tuple[str, ...] = ()
    read_as: str = ""


def read_text_answers(
    sources: Sequence[tuple[str | None, Any]],
    data: Instances,
    *,
    columns: Mapping[str, str] | None = None,
    surplus_ids: bool = False,
) -> list[TextAnswers]:
    """Return the answers of several models to the test questions, or to all where there is no test split."""
    scored = data if data.test is not None else as_split(data, "test")
    read = [
        _aligned(raw, scored, surplus_ids)
        for name, source in sources
        for raw in _raw(name, source, scored, columns or {})
    ]
    names = distinct_names([one.model for one in read])
    return [replace(one, model=name) for one, name in zip(read, names, strict=True)]


def _raw(name: str | None, source: Any, data: Instances, columns: Mapping[str, str]) -> list[RawPredictions]:
    if not isinstance(source, pl.DataFrame) and callable(source):
        raise InputError("Answers in words are read from a file or a table, not from a function.")
    if isinstance(source, str | Path) and Path(source).suffix == ".json":
        by_id = _by_id(Path(source).expanduser())
        if by_id is not None:
            table = pl.DataFrame({"id": list(by_id), "prediction": list(by_id.values())})
            return raw_predictions(table, data, {}, name or Path(source).stem)
    return raw_predictions(source, data, columns, name)


def _by_id(path: Path) -> dict[str, str] | None:
    """Return a file of answers by id, as SQuAD's evaluation reads it; None where it holds something else."""
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(held, dict) or not all(isinstance(one, str) for one in held.values()):
        return None
    return held


def _aligned(raw: RawPredictions, data: Instances, surplus_ids: bool) -> TextAnswers:
    examples = check_test(data)
    if surplus_ids and raw.ids is not None:
        raw = raw.about(examples.ids)
    if raw.answers is None:
        raise InputError(
            f"{raw.source} holds probabilities, and open answers are texts: give a column `prediction`."
        )
    texts = raw.answers.cast(pl.String).gather(rows_in_order(raw, data, examples))
    notes = list(raw.notes)
    mark = final_mark(texts)
    if mark is not None:
        texts = final_answers(texts, mark)
        notes.append(f"Of the answers of {raw.model}, what {mark!r} marks is read as the answer.")
    if missing := texts.null_count():
        notes.append(
            f"{plural(missing, 'question')} of {len(texts):,} without an answer of {raw.model} count as wrong."
        )
    return TextAnswers(raw.model, texts, raw.source, tuple(notes), raw.read_as)
