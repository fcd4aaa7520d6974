"""Predictions in a table: a .csv, .tsv, .jsonl or .parquet file, or a frame in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.answer_texts import final_answers, final_mark
from cuecard.data.layout.labels import label_texts
from cuecard.data.reading.files import read_file
from cuecard.errors import InputError, UsageError
from cuecard.probes.examples import check_test
from cuecard.probes.formats.matching import RawPredictions
from cuecard.stats.arrays import Floats
from cuecard.wording import listed

#: Names by which columns are recognised, lower case, the surest first.
RECOGNISED = {
    "id": ("example_id", "id", "pairid", "guid", "uid", "idx", "question_id", "sample_id"),
    "prediction": ("prediction", "predicted", "pred", "predicted_label", "pred_label", "prediction_label"),
    "gold": ("gold", "gold_label", "target", "true_label", "answer", "label"),
    "model": ("model", "model_name", "system"),
    "prompt": ("prompt_name",),
}
#: Further names of columns that hold predicted answers in words.
IN_WORDS = (
    "predicted_answer",
    "model_answer",
    "response",
    "output",
    "generated_text",
    "completion",
    "actual_output",
)
#: Column that tells what an answer to a prompt was read from: "probability" or "text".
READ_FROM = "read_from"
#: In it, a row for an example that was not asked: it has fewer orders than others, or no question that stands alone.
NOT_ASKED = "not asked"
#: Columns that `cuecard ask` writes: what was shown of the input, the number of the order, and what stood where.
INPUT, ORDER, SHOWN = "input", "order", "shown"
PROBABILITIES = ("p_", "prob_", "probability_")
SCORE = "score_"


def read_table_predictions(path: Path, data: Instances, columns: Mapping[str, str]) -> list[RawPredictions]:
    """Return the predictions of every model in a file."""
    return table_predictions(read_file(path).frame, str(path), data, columns)


def table_predictions(
    frame: pl.DataFrame, source: str, data: Instances, columns: Mapping[str, str]
) -> list[RawPredictions]:
    """Return the predictions of every model in a table with one row per example (and model)."""
    frame = _test_rows(frame)
    if not frame.height:
        raise InputError(f"{source} has no rows; give a prediction for every test example.")
    roles = _columns(frame, source, data, columns)
    called = [roles[role] for role in ("model", "prompt") if role in roles]
    asked = [INPUT, ORDER] if "prompt" in roles and {INPUT, ORDER, SHOWN} <= set(frame.columns) else []
    own_name = Path(source).stem if "." in source else "model"
    if not called:
        return [_of_model(frame, own_name, source, roles, data)]
    for role in ("model", "prompt"):
        if role in roles and (silent := frame[roles[role]].null_count()):
            raise InputError(f"{source}: {silent:,} rows do not say which {role} they are about.")
    parts = []
    for values, part in frame.group_by([*called, *asked], maintain_order=True):
        names = values[: len(called)]
        texts = [own_name, *map(str, names)] if "model" not in roles else list(map(str, names))
        raw = _of_model(part, " · ".join(texts), source, roles, data)
        raw = _prompted(raw, texts[-1], part) if "prompt" in roles else raw
        parts.append(_as_asked(raw, part, source) if asked else raw)
    return parts


def _as_asked(raw: RawPredictions, rows: pl.DataFrame, source: str) -> RawPredictions:
    """Return answers with what of the input was shown, and in which order."""
    first = rows.row(0, named=True)
    shown = pl.Series(rows[SHOWN]).cast(pl.String).str.split(" ").to_list()
    matrix = np.full((rows.height, max((len(places) for places in shown if places), default=0)), -1)
    for line, places in zip(matrix, shown, strict=True):
        if places:
            if not all(place.isdecimal() for place in places):
                raise InputError(
                    f"{source}: {' '.join(places)!r} in the column {SHOWN} is no order such as '1 0 2'."
                )
            line[: len(places)] = [int(place) for place in places]
    name = str(first[INPUT])
    return replace(
        raw,
        partial_input="" if name == "full" else name,
        order=int(first[ORDER] or 0),
        shown=matrix.astype(np.int64),
        unasked=(rows[READ_FROM] == NOT_ASKED).fill_null(False).to_numpy()
        if READ_FROM in rows.columns
        else None,
    )


def _prompted(raw: RawPredictions, prompt: str, rows: pl.DataFrame) -> RawPredictions:
    """Return the answers to one prompt; what could not be read is no answer."""
    notes: tuple[str, ...] = ()
    if READ_FROM in rows.columns:
        by = rows[READ_FROM].cast(pl.String)
        notes = (
            f"{(by == 'probability').sum():,} answers by log-probability, {(by == 'text').sum():,} by text, "
            f"{by.null_count():,} could not be parsed and count as wrong.",
        )
    return replace(raw, prompt=prompt, may_be_unanswered=True, notes=notes)


def _test_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows about the test split, where a column tells splits apart."""
    if "split" not in frame.columns or "test" not in frame["split"].cast(pl.String).unique().to_list():
        return frame
    return frame.filter(pl.col("split").cast(pl.String) == "test")


def _columns(frame: pl.DataFrame, source: str, data: Instances, columns: Mapping[str, str]) -> dict[str, str]:
    """Return role → column: those the user named, otherwise those recognised by name."""
    for role, name in columns.items():
        if role not in RECOGNISED:
            raise UsageError(f"--prediction-columns knows {', '.join(RECOGNISED)}, not {role!r}.")
        if name not in frame.columns:
            raise InputError(f"{source} has no column {name!r}; it has {', '.join(frame.columns)}.")
    roles = dict(columns)
    lower = {name.lower(): name for name in reversed(frame.columns)}
    own_id = data.report.recognised.get("id", "").lower()
    for role, names in RECOGNISED.items():
        candidates = (own_id, *names) if role == "id" else names
        if role == "prediction" and not data.labelled:
            candidates = (*names, *IN_WORDS)
        match = next((lower[name] for name in candidates if name in lower), None)
        if role not in roles and match is not None and match not in roles.values():
            roles[role] = match
    if "prediction" not in roles and not _prefixed(frame, data):
        if "gold" not in roles or "gold" in columns:
            _check_answers_have_columns(frame, source, data)
            raise InputError(
                f"{source} has no column of predictions among {', '.join(frame.columns)}; "
                "name it with --prediction-columns prediction=NAME."
            )
        column = roles["prediction"] = roles.pop("gold")
        if _is_gold(frame, column, data, roles.get("id")):
            raise InputError(
                f"{source}: the column {column!r} holds the right answers, and no other column holds predictions; "
                f"if a model gave them, say so with --prediction-columns prediction={column}."
            )
    return roles


def _check_answers_have_columns(frame: pl.DataFrame, source: str, data: Instances) -> None:
    """Raise an error that names the answers without a column where others have one, such as p_neutral."""
    for prefix, answers in _ways_to_name(data):
        columns = [f"{prefix}{name}" for name in answers]
        missing = [column for column in columns if column not in frame.columns]
        if len(missing) < len(columns):
            raise InputError(
                f"{source} has {listed([c for c in columns if c not in missing])} but not {listed(missing)}; give "
                "every answer a column, or the answers themselves in a column `prediction`."
            )


def _is_gold(frame: pl.DataFrame, column: str, data: Instances, id_column: str | None) -> bool:
    """Return whether a column says the same as the data's own right answers."""
    examples = check_test(data)
    if frame.height != len(examples):
        return False
    if data.labelled:
        names = [examples.answer_names[code] for code in examples.gold]
    else:
        names = examples.of_first_rows("hypothesis").str.strip_chars().to_list()
    here = dict(zip(examples.ids.cast(pl.String).to_list(), names, strict=True))
    ids = frame[id_column].cast(pl.String).to_list() if id_column else list(here)
    texts = _texts(frame[column], data)
    if not data.labelled and (mark := final_mark(texts)) is not None:
        texts = final_answers(texts, mark)
    values = [str(value).strip().lower() for value in texts.to_list()]
    return all(here.get(name, "").lower() == value for name, value in zip(ids, values, strict=True))


def _of_model(
    frame: pl.DataFrame, model: str, source: str, roles: dict[str, str], data: Instances
) -> RawPredictions:
    probabilities = _prefixed(frame, data)
    prediction = roles.get("prediction")
    return RawPredictions(
        model=model,
        source=source,
        answers=_texts(frame[prediction], data) if prediction else None,
        ids=frame[roles["id"]] if "id" in roles else None,
        gold=_texts(frame[roles["gold"]], data) if "gold" in roles else None,
        probabilities=probabilities[0] if probabilities else None,
        probability_kind="score" if probabilities and probabilities[1] else "probability",
        read_as=_read_as(roles, probabilities is not None),
    )


def _read_as(roles: Mapping[str, str], with_probabilities: bool) -> str:
    """Return which column was taken for what, and how rows are matched."""
    parts = [f"{role} = {column}" for role, column in roles.items()]
    parts += ["probabilities by answer"] if with_probabilities else []
    return ", ".join([*parts, *([] if "id" in roles else ["matched by row order"])])


def _texts(values: pl.Series, data: Instances) -> pl.Series:
    """Return answers as text; null for a missing number, an empty text, and "none" unless that is a label."""
    if values.dtype.is_float():
        values = values.fill_nan(None)
    texts = label_texts(values)
    labels = {label.lower() for label in data.labels}
    blank = texts.str.strip_chars().str.to_lowercase().is_in(sorted({"", "nan", "none", "null"} - labels))
    return pl.select(pl.when(~blank).then(texts)).to_series()


def _prefixed(frame: pl.DataFrame, data: Instances) -> tuple[Floats, bool] | None:
    """Return the columns p_<answer> (or score_<answer>) in the order of the answers, and whether scores.

    The answers of multiple choice are called by position from 0 or by letter.
    """
    for prefix, answers in _ways_to_name(data):
        columns = [f"{prefix}{name}" for name in answers]
        if all(column in frame.columns for column in columns):
            numbers = frame.select(pl.col(columns).cast(pl.Float64, strict=False).fill_null(np.nan))
            return numbers.to_numpy().astype(np.float64), prefix == SCORE
    return None


def _ways_to_name(data: Instances) -> list[tuple[str, tuple[str, ...]]]:
    """Return every prefix of columns of numbers with the answers' names that may follow it."""
    names = tuple(check_test(data).answer_names)
    called = [names]
    if data.task == "choice":
        called += [tuple(letters[: len(names)]) for letters in (ascii_uppercase, ascii_lowercase)]
    return [(prefix, answers) for prefix in (*PROBABILITIES, SCORE) for answers in called]
