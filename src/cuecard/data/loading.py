"""`load`: anything a user points at becomes `Instances`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import polars as pl

from cuecard.data.answers import choose_rule
from cuecard.data.choices import answered
from cuecard.data.columns import Columns, ColumnsArgument, recognise
from cuecard.data.instances import COLUMNS, Instances, LoadReport, Task
from cuecard.data.labels import UNLABELLED, LabelScheme, label_texts, learn_labels
from cuecard.data.raw import RawTable
from cuecard.data.reading import OnError
from cuecard.data.shaping import CHOICE_LABELS, PREFERENCE_LABELS, Scheme, Shaped, shape
from cuecard.data.sources import Source, read_source, split_in_name
from cuecard.errors import InputError, UsageError

SPLITS = ("train", "dev", "test")


def load(
    train: Source,
    *,
    test: Source | None = None,
    dev: Source | None = None,
    task: Task | None = None,
    columns: ColumnsArgument | None = None,
    labels: Mapping[str, str | None] | None = None,
    keep_unlabelled: bool = False,
    holdout: float | None = None,
    seed: int = 0,
    on_error: OnError = "stop",
    name: str | None = None,
    limit: int | None = None,
) -> Instances:
    """Return the instances of a dataset.

    `train`, `test` and `dev` are each a file (.parquet, .csv, .tsv, .jsonl, .ndjson; plain, .gz or .zst), a folder or
    glob of files, or a table in memory. A folder that names its splits fills those not given.
    """
    if on_error not in get_args(OnError):
        raise UsageError(f"on_error is 'stop' or 'skip', not {on_error!r}.")
    if limit is not None and limit < 1:
        raise UsageError(f"limit is a number of rows of at least 1, not {limit}.")
    raws = _read(train, test, dev, on_error, limit)
    scheme_columns = {s: _columns(raw, raws["train"], task, columns) for s, raw in raws.items()}
    scheme = _learn(raws, scheme_columns, labels, keep_unlabelled, on_error)
    shaped: dict[str, Shaped] = {}
    for split, raw in raws.items():
        own = Scheme(scheme_columns[split], scheme.labels, scheme.rule, keep_unlabelled, on_error)
        shaped[split] = shape(raw, split, own)
    table = stack_tables([s.table for s in shaped.values()])
    report = _report(raws, scheme_columns["train"], shaped)
    return Instances(table, scheme.columns.task, scheme.labels.names, name or _name(train), report)


def _read(
    train: Source, test: Source | None, dev: Source | None, on_error: OnError, limit: int | None
) -> dict[str, RawTable]:
    """Return the raw table of every split, train first."""
    found = read_source(train, on_error=on_error, limit=limit)
    for split, source in (("dev", dev), ("test", test)):
        if source is not None:
            parts = read_source(source, on_error=on_error, limit=limit)
            found[split] = parts.get(split, parts["train"])
    for split, raw in found.items():
        if raw.frame.height == 0:
            lost = f" ({sum(raw.dropped.values()):,} were skipped)" if raw.dropped else ""
            raise InputError(f"{raw.where} has no rows{lost}: give a file with at least one row for {split}.")
        if limit is not None:
            found[split] = raw.head(limit)
    return {s: found[s] for s in SPLITS if s in found}


def _columns(raw: RawTable, train: RawTable, task: Task | None, columns: ColumnsArgument | None) -> Columns:
    """Return the roles of a split's columns; another split must have the task of train."""
    first = recognise(train.frame.schema, where=train.where, task=task, columns=columns)
    if raw is train or first.used <= set(raw.frame.columns):
        return first
    return recognise(raw.frame.schema, where=raw.where, task=first.task, columns=columns)


def _learn(
    raws: Mapping[str, RawTable],
    columns: Mapping[str, Columns],
    labels: Mapping[str, str | None] | None,
    keep_unlabelled: bool,
    on_error: OnError,
) -> Scheme:
    """Return what all splits share: the label names in their order and how answers are read."""
    first = columns["train"]
    unlabelled = (UNLABELLED,) if keep_unlabelled else ()
    if first.task == "preference":
        return Scheme(first, LabelScheme(PREFERENCE_LABELS, {}), None, keep_unlabelled, on_error)
    if first.task == "choice":
        tables = [answered(raw, columns[s]) for s, raw in raws.items()]
        rule = choose_rule(tables, first.answer_base)
        if all(t.answers.null_count() == len(t.answers) for t in tables):
            raise InputError(
                f"Every answer in column {first.one('answer')!r} of {raws['train'].where} is missing: "
                "give rows with answers."
            )
        return Scheme(first, LabelScheme(CHOICE_LABELS + unlabelled, {}), rule, keep_unlabelled, on_error)
    column = first.one("label")
    values: set[str | None] = set()
    for split, raw in raws.items():
        values |= set(label_texts(raw.frame[columns[split].one("label")]).unique().to_list())
    mapping = labels
    names = raws["train"].class_names.get(column)
    if mapping is None and names:
        mapping = {str(i): n for i, n in enumerate(names)}
    found = learn_labels(
        values, where=raws["train"].where, column=column, mapping=mapping, keep_unlabelled=keep_unlabelled
    )
    return Scheme(first, found, None, keep_unlabelled, on_error)


def stack_tables(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Return tables of instances one after another, an extra column empty where one lacks it."""
    if len(tables) == 1:
        return tables[0]
    if len({tuple(t.schema.items()) for t in tables}) == 1:
        return pl.concat(tables)
    kinds: dict[str, set[pl.DataType]] = {}
    for table in tables:
        for column, dtype in table.schema.items():
            kinds.setdefault(column, set()).add(dtype)
    clash = [c for c, found in kinds.items() if c not in COLUMNS and len(found) > 1 and pl.String in found]
    alike = [t.with_columns(pl.col(c).cast(pl.String) for c in clash if c in t.columns) for t in tables]
    return pl.concat(alike, how="diagonal_relaxed")


def _report(raws: Mapping[str, RawTable], columns: Columns, shaped: Mapping[str, Shaped]) -> LoadReport:
    dropped: dict[str, int] = {}
    for part in shaped.values():
        for reason, count in part.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    return LoadReport(
        files=tuple(f for raw in raws.values() for f in raw.files),
        recognised=columns.described(),
        dropped=dropped,
        notes=tuple(dict.fromkeys(note for part in shaped.values() for note in part.notes)),
    )


def _name(train: Source) -> str:
    """Return what a dataset is called after its path: the file's name, or its folder's where that is a split."""
    if not isinstance(train, str | Path):
        return "data"
    path = Path(train)
    stem = path.name.split(".")[0]
    if path.is_file() and split_in_name(path) and path.resolve().parent.name:
        return path.resolve().parent.name
    return stem.strip("*") or "data"
