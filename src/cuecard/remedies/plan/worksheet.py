"""The worksheet of a plan: one row per example to change, filled by people, read back with its lines, and applied."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples, Ints
from cuecard.data.reading.formats import check_regular
from cuecard.documents import parse_json
from cuecard.errors import InputError, UsageError
from cuecard.wording import listed
from cuecard.writing import write_whole

Action = Literal["drop", "rewrite", "relabel", "permute", "re-pair", "keep"]
ACTIONS: tuple[Action, ...] = get_args(Action)
#: How a cell begins that a spreadsheet runs as a formula: such a cell is written with an apostrophe before it.
_FORMULA = r"^('*[=+\-@\t\r])"
_PROTECTED = re.compile(r"^'(?='*[=+\-@\t\r])")
_ORIGINAL = ("premise", "text", "others", "label")
_NEW = ("new_premise", "new_text", "new_others", "new_label")
COLUMNS = ("id", "split", "action", "why", "advice", *_ORIGINAL, *_NEW)
#: What each action needs, and what it may have besides.
_NEEDS: dict[Action, tuple[str, ...]] = {
    "relabel": ("new_label",),
    "permute": ("new_label",),
    "re-pair": ("new_others",),
}
_MAY: dict[Action, tuple[str, ...]] = {
    "rewrite": _NEW,
    "relabel": ("new_label",),
    "permute": ("new_label",),
    "re-pair": ("new_others",),
}


@dataclass(frozen=True)
class Change:
    """One row of a worksheet, checked: the number of the example, and what changes."""

    example: int
    action: Action
    new_premise: str = ""
    new_text: str = ""
    new_others: tuple[str, ...] = ()
    new_label: int | None = None


def worksheet_rows(examples: Examples, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return a worksheet: for each row's `example` its id and texts, with `action`, `why`, `advice` and new values.

    The text of multiple choice and preferences is the right answer; the others are a JSON list.
    """
    originals = [_original(examples, int(row["example"])) for row in rows]
    written = [
        original | {name: str(row.get(name, "")) for name in COLUMNS if name in row or name in _NEW}
        for original, row in zip(originals, rows, strict=True)
    ]
    return pl.DataFrame(written, schema=dict.fromkeys(COLUMNS, pl.String))


def write_worksheet(rows: pl.DataFrame, path: Path) -> None:
    """Write a worksheet as .csv or .jsonl, whole or not at all; no cell of a .csv is a formula."""
    _kind(path)
    if path.suffix == ".csv":
        write_whole(path, rows.with_columns(pl.all().str.replace(_FORMULA, "'${1}")).write_csv)
    else:
        write_whole(path, rows.write_ndjson)


def read_worksheet(path: Path, data: Instances) -> list[Change]:
    """Return the changes of a worksheet, or raise with the line of the first row that cannot be applied."""
    examples = Examples(data)
    numbers = {
        (split, name): i for i, (split, name) in enumerate(zip(examples.splits, examples.ids, strict=True))
    }
    changes: list[Change] = []
    lines: dict[int, int] = {}
    for line, row in _rows(path):
        where = f"{path}, line {line}"
        change = _change(where, row, examples, numbers)
        if change.example in lines:
            raise InputError(
                f"{where}: the example {row['id']!r} is on line {lines[change.example]}, too: keep one of the rows."
            )
        lines[change.example] = line
        changes.append(change)
    if not changes:
        raise InputError(f"{path} has no rows: give the worksheet that `cuecard plan DATA --out FILE` wrote.")
    return changes


def _original(examples: Examples, example: int) -> dict[str, str]:
    data = examples.instances
    first, end = examples.first_rows[example : example + 2]
    right = int(examples.right_rows[example])
    texts = data.table["hypothesis"]
    others = [texts[row] for row in range(int(first), int(end)) if row != right]
    label = data.labels[examples.gold[example]] if not data.grouped else str(right - int(first) + 1)
    return {
        "id": str(examples.ids[example]),
        "split": str(examples.splits[example]),
        "premise": data.table["premise"][int(first)] or "",
        "text": texts[right] or "",
        "others": json.dumps(others, ensure_ascii=False) if others else "",
        "label": label,
    }


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a worksheet with the line on which each begins."""
    _kind(path)
    try:
        check_regular(path, rows=False)
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the worksheet cannot be read ({error}).") from None
    if path.suffix == ".csv":
        # Not by splitlines, which also ends lines at U+2028, U+0085 and form feeds: texts hold them.
        csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a text may be long
        reader = csv.DictReader(io.StringIO(text, newline=""))
        _check_columns(f"{path}, line 1", reader.fieldnames or ())
        line = reader.line_num
        for row in reader:
            if None in row or None in row.values():
                raise InputError(
                    f"{path}, line {line + 1}: the row has another number of fields than the header."
                )
            yield line + 1, {name: _PROTECTED.sub("", value or "") for name, value in row.items()}
            line = reader.line_num
        return
    for line, raw in enumerate(text.split("\n"), 1):
        if not raw.strip():
            continue
        row = parse_json(raw, f"{path}, line {line}: the row", "correct it")
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {line}: this is not a row of a worksheet.")
        _check_columns(f"{path}, line {line}", list(row))
        yield line, {name: "" if value is None else str(value) for name, value in row.items()}


def _check_columns(where: str, names: Sequence[str]) -> None:
    if missing := [name for name in COLUMNS if name not in names and name not in ("why", "advice")]:
        raise InputError(
            f"{where}: the {'column' if len(missing) == 1 else 'columns'} {listed(missing)} of a worksheet "
            f"{'is' if len(missing) == 1 else 'are'} missing: "
            "write one with `cuecard plan DATA --out FILE`."
        )


def _change(
    where: str, row: Mapping[str, str], examples: Examples, numbers: Mapping[tuple[str, str], int]
) -> Change:
    if not row["id"]:
        raise InputError(f"{where}: the row has no id: copy it from the worksheet that was written.")
    example = numbers.get((row["split"], row["id"]))
    if example is None:
        raise InputError(
            f"{where}: the data has no example {row['id']!r} in the split {row['split']!r}: the id was edited, or the "
            "worksheet is for other data."
        )
    original = _original(examples, example)
    if changed := [name for name in _ORIGINAL if _lines(row[name]) != _lines(original[name])]:
        raise InputError(
            f"{where}: the {changed[0]} is not that of the example {row['id']!r}: write new texts in the columns "
            f"{_NEW[0]} to {_NEW[-1]}, and leave ids and the other columns as they are."
        )
    action = row["action"].strip().lower()
    if action not in ACTIONS:
        raise InputError(f"{where}: the action is {row['action']!r}: write {listed(list(ACTIONS), 'or')}.")
    filled = [name for name in _NEW if row[name].strip()]
    if extra := [name for name in filled if name not in _MAY.get(action, ())]:
        raise InputError(
            f"{where}: {extra[0]} is filled, but the action is {action}: write another action, or empty it."
        )
    needed = _NEEDS.get(action, ())
    if missing := [name for name in needed if name not in filled]:
        raise InputError(f"{where}: {action} needs {missing[0]}: fill it, or write the action keep.")
    if action == "rewrite" and not set(filled) - {"new_label"}:
        raise InputError(
            f"{where}: rewrite needs a new text: fill one of {listed(list(_NEW[:3]), 'or')}, or write the action keep."
        )
    if same := [name for name in filled if row[name].strip() == original[name.removeprefix("new_")].strip()]:
        raise InputError(
            f"{where}: {same[0]} repeats the present {same[0].removeprefix('new_')}: write what changes, or empty it."
        )
    return Change(
        example,
        action,
        row["new_premise"].strip(),
        row["new_text"].strip(),
        _others(where, row["new_others"], len(json.loads(original["others"] or "[]"))),
        _label(where, row["new_label"].strip(), examples, example),
    )


def _lines(text: str) -> str:
    """Return a text with its line ends as one character: spreadsheets write their own."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _others(where: str, written: str, size: int) -> tuple[str, ...]:
    if not written.strip():
        return ()
    try:
        texts = json.loads(written)
    except json.JSONDecodeError:
        texts = None
    if not isinstance(texts, list) or len(texts) != size or not all(isinstance(t, str) and t for t in texts):
        raise InputError(
            f"{where}: new_others must be a JSON list of {size} texts, in the order of the column others."
        )
    return tuple(texts)


def _label(where: str, written: str, examples: Examples, example: int) -> int | None:
    if not written:
        return None
    data = examples.instances
    allowed = [str(i + 1) for i in range(int(examples.sizes[example]))] if data.grouped else list(data.labels)
    if written not in allowed:
        what = "a position from 1" if data.grouped else "a label"
        raise InputError(f"{where}: new_label is {written!r}: write {what}: {listed(allowed, 'or')}.")
    return allowed.index(written)


def _kind(path: Path) -> None:
    if path.suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{path} is not a worksheet: use a .csv or .jsonl file.")


def without(data: Instances, examples: Ints) -> Instances:
    """Return the dataset without some examples."""
    dropped = np.zeros(data.n_examples, dtype=np.bool_)
    dropped[examples] = True
    return replace(data, table=data.table.filter(pl.Series(~dropped[data.example_codes])))


def simulated(data: Instances, changes: Sequence[Change]) -> Instances:
    """Return the dataset as far as changes are known: a text to rewrite is left out, unless its new label is given."""
    gone = [
        c.example for c in changes if c.action == "drop" or (c.action == "rewrite" and c.new_label is None)
    ]
    if len(gone) == len(changes):
        return without(data, np.array(gone, dtype=np.int64))
    return applied(data, [replace(c, action="drop") if c.example in set(gone) else c for c in changes])


def applied(data: Instances, changes: Sequence[Change]) -> Instances:
    """Return the dataset with the changes of a worksheet."""
    examples = Examples(data)
    texts = data.table["hypothesis"].to_list()
    premises = data.table["premise"].to_list()
    codes = data.label_codes.copy()
    for change in changes:
        first, end = examples.first_rows[change.example : change.example + 2]
        rows = np.arange(first, end)
        right = int(examples.right_rows[change.example])
        if change.new_premise:
            for row in rows:
                premises[row] = change.new_premise
        if change.new_text:
            texts[right] = change.new_text
        if change.new_others:
            for row, text in zip(rows[rows != right], change.new_others, strict=True):
                texts[row] = text
        if change.new_label is not None and not data.grouped:
            codes[first] = change.new_label
        elif change.new_label is not None:
            to = int(first) + change.new_label
            codes[right], codes[to] = codes[to], codes[right]
            if change.action == "permute":  # the right answer moves; otherwise another answer becomes right
                texts[right], texts[to] = texts[to], texts[right]
    labels = pl.Series("label", [data.labels[code] for code in codes], dtype=pl.Enum(data.labels))
    table = data.table.with_columns(
        labels,
        hypothesis=pl.Series(texts, dtype=pl.String),
        premise=pl.Series(premises, dtype=pl.String),
    )
    dropped = np.array([c.example for c in changes if c.action == "drop"], dtype=np.int64)
    return without(replace(data, table=table), dropped)
