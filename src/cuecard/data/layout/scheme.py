"""What every split and every partition of a dataset must share: roles, label names, how answers are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import get_args

from cuecard.data.files.raw import RawTable
from cuecard.data.files.reading import OnError
from cuecard.data.instances import GROUPED_TASKS, Task
from cuecard.data.layout.answers import AnswerRule, choose_rule
from cuecard.data.layout.choices import answered
from cuecard.data.layout.columns import Columns, ColumnsArgument, recognise
from cuecard.data.layout.labels import LabelScheme, label_texts, learn_labels
from cuecard.data.presets import Preset
from cuecard.errors import InputError, UsageError

#: Labels of the tasks whose examples are choices: of the one that was picked, of the others.
CHOICE_LABELS = ("right", "wrong")
PREFERENCE_LABELS = ("chosen", "rejected")


@dataclass(frozen=True)
class Wishes:
    """What the caller asked for, whichever way the data is read."""

    task: Task | None = None
    columns: ColumnsArgument | None = None
    labels: Mapping[str, str | None] | None = None
    keep_unlabelled: bool = False
    on_error: OnError = "stop"
    preset: Preset | None = None

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise UsageError(f"on_error is 'stop' or 'skip', not {self.on_error!r}.")


@dataclass(frozen=True)
class Scheme:
    """The roles of a split's columns, and the labels and the reading of answers that all splits share."""

    columns: Columns
    labels: LabelScheme
    rule: AnswerRule | None = None
    keep_unlabelled: bool = False
    on_error: OnError = "stop"


def columns_of(raws: Mapping[str, RawTable], wishes: Wishes) -> dict[str, Columns]:
    """Return the roles of every split's columns; a split with other names must still have train's task."""
    preset = wishes.preset
    known = preset.columns if preset else None
    base = preset.answer_base if preset else None
    ends = preset.prompt_ends_with if preset else None
    task = wishes.task or (preset.task if preset else None)
    train = raws["train"]

    def look(raw: RawTable, task: Task | None) -> Columns:
        return recognise(
            raw.frame.schema,
            where=raw.where,
            task=task,
            columns=wishes.columns,
            known=known,
            answer_base=base,
            prompt_ends_with=ends,
        )

    first = look(train, task)

    def of(raw: RawTable) -> Columns:
        if not first.used <= set(raw.frame.columns):
            return look(raw, first.task)
        if "id" in first or raw is train:
            return first
        # Predictions name a test example by the id in its own file, whether train has ids or not.
        found = look(raw, first.task)
        if "id" not in found or found.one("id") in first.used:
            return first
        return replace(first, roles={**first.roles, "id": found.roles["id"]})

    return {split: of(raw) for split, raw in raws.items()}


def learn(
    raws: Mapping[str, RawTable],
    columns: Mapping[str, Columns],
    wishes: Wishes,
    label_values: Iterable[str | None] | None = None,
) -> dict[str, Scheme]:
    """Return the scheme of every split; `label_values` replaces looking for labels in the given tables."""
    first = columns["train"]
    rule: AnswerRule | None = None
    if wishes.keep_unlabelled and first.task in GROUPED_TASKS:
        raise UsageError(
            f"--keep-unlabelled is for pairs and texts: without an answer, none of the choices of a "
            f"{first.task} is right or wrong. Leave the option out, and such rows are dropped and counted."
        )
    if first.task == "preference":
        labels = LabelScheme(PREFERENCE_LABELS, {})
    elif first.task == "choice":
        rule = _answer_rule(raws, columns)
        labels = LabelScheme(CHOICE_LABELS, {})
    else:
        if label_values is None:
            label_values = seen_labels(raws, columns)
        labels = _labels(raws["train"], first, wishes, label_values)
    return {s: Scheme(c, labels, rule, wishes.keep_unlabelled, wishes.on_error) for s, c in columns.items()}


def seen_labels(raws: Mapping[str, RawTable], columns: Mapping[str, Columns]) -> set[str | None]:
    """Return the different raw label values of all splits."""
    values: set[str | None] = set()
    for split, raw in raws.items():
        values |= set(label_texts(raw.frame[columns[split].one("label")]).unique().to_list())
    return values


def _answer_rule(raws: Mapping[str, RawTable], columns: Mapping[str, Columns]) -> AnswerRule:
    tables = [answered(raw, columns[split]) for split, raw in raws.items()]
    if tables[0].answers.null_count() == len(tables[0].answers):
        raise InputError(
            f"Every answer in column {columns['train'].one('answer')!r} of {raws['train'].where} is missing: "
            "give rows with answers, or name another column with --columns answer=…"
        )
    return choose_rule(tables, columns["train"].answer_base)


def _labels(train: RawTable, columns: Columns, wishes: Wishes, values: Iterable[str | None]) -> LabelScheme:
    """Return the label names: as the user maps them, else as the file's metadata or the preset knows them."""
    column = columns.one("label")
    mapping = wishes.labels
    if mapping is None and column in train.class_names:
        mapping = {str(i): name for i, name in enumerate(train.class_names[column])}
    if wishes.labels is None and wishes.preset and wishes.preset.labels:
        # The file's own names for its numbers win; the preset then still maps names to names.
        preset = wishes.preset.labels
        mapping = {raw: preset.get(name or "", name) for raw, name in mapping.items()} if mapping else {}
        mapping = {**preset, **mapping}
    return learn_labels(
        values,
        where=train.where,
        column=column,
        mapping=mapping,
        strict=wishes.labels is not None,
        keep_unlabelled=wishes.keep_unlabelled,
    )
