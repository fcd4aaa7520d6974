"""What every split and every partition of a dataset must share: roles, label names, how answers are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from cuecard.data.answer_texts import FinalMark
from cuecard.data.ingest import ReadOptions
from cuecard.data.instances import Task
from cuecard.data.layout.answers import AnswerRule, answered, choose_rule, fits_both_bases, open_base
from cuecard.data.layout.columns import Columns, recognise
from cuecard.data.layout.labels import LabelScheme, label_texts, learn_labels
from cuecard.data.layout.matching import few_values
from cuecard.data.layout.open_answers import is_lettered, learn_mark
from cuecard.data.layout.preferences import WinnerRule, winner_rule
from cuecard.data.layout.roles import Role
from cuecard.data.layout.texts import prompt_marker, text
from cuecard.data.reading.files import OnError
from cuecard.data.reading.label_files import labels_beside
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError, UsageError
from cuecard.wording import only_applies_to

#: Labels of the tasks whose examples are choices: of the one that was picked, of the others.
CHOICE_LABELS = ("right", "wrong")
PREFERENCE_LABELS = ("chosen", "rejected")
#: Open answers have no labels: what stands in their place is the same for all.
OPEN_LABELS = ("answer",)
_MARKED = "Of the solutions in {1!r}, what follows {0!r} is read as the answer."


@dataclass(frozen=True)
class Scheme:
    """The roles of a split's columns, and the labels and the reading of answers that all splits share."""

    columns: Columns
    labels: LabelScheme
    rule: AnswerRule | None = None
    winner: WinnerRule | None = None
    mark: FinalMark | None = None
    keep_unlabelled: bool = False
    on_error: OnError = "stop"


def columns_of(
    raws: Mapping[str, RawTable],
    options: ReadOptions,
    works: Callable[[RawTable, Mapping[Role, tuple[str, ...]]], bool] = lambda raw, roles: False,
) -> dict[str, Columns]:
    """Return the roles of every split's columns; a split with other names must still have train's task.

    `works` says whether a table can be read with some roles, so that an error only proposes what works.
    """
    preset = options.preset
    task = options.task or (preset.task if preset else None)
    train = raws["train"]

    def look(raw: RawTable, task: Task | None) -> Columns:
        beside = partial(labels_beside, raw)
        return recognise(
            raw,
            task=task,
            columns=options.columns,
            preset=preset,
            labels_beside=beside,
            works=partial(works, raw),
        )

    first = look(train, task)

    def of(raw: RawTable) -> Columns:
        if not first.used <= set(raw.frame.columns):
            return look(raw, first.task)
        if "id" in first or raw is train:
            return first
        # Predictions name a test example by the id in its own file, whether train has ids or not.
        own = look(raw, first.task)
        if "id" not in own or own.one("id") in first.used:
            return first
        return replace(first, roles={**first.roles, "id": own.roles["id"]})

    return {split: of(raw) for split, raw in raws.items()}


def learn(
    raws: Mapping[str, RawTable],
    columns: Mapping[str, Columns],
    options: ReadOptions,
) -> dict[str, Scheme]:
    """Return the scheme of every split."""
    first = columns["train"]
    rule: AnswerRule | None = None
    winner: WinnerRule | None = None
    mark: FinalMark | None = None
    if options.keep_unlabelled and first.task not in ("pair", "text"):
        raise UsageError(
            f"--keep-unlabelled {only_applies_to(['pair', 'text'], first.task)}: leave the option out to drop "
            "and count rows without an answer."
        )
    if first.task == "preference":
        labels = LabelScheme(PREFERENCE_LABELS, {})
        winner = _winner_rule(raws, columns) if "winner" in first else None
        columns = {
            split: replace(c, prompt_ends_with=_marker(raws["train"], first)) for split, c in columns.items()
        }
    elif first.task == "choice":
        rule, notes = _answer_rule(raws, columns)
        labels = LabelScheme(CHOICE_LABELS, {}, notes)
    elif first.task == "open":
        if options.labels is not None:
            raise UsageError(f"--labels {only_applies_to(['pair', 'text'], 'open')}: leave the option out.")
        mark = learn_mark(raws, {split: c.one("answer") for split, c in columns.items()})
        notes = () if mark is None else (_MARKED.format(mark, first.one("answer")),)
        labels = LabelScheme(OPEN_LABELS, {}, notes)
    else:
        seen = seen_labels(raws, columns)
        if options.labels is None:
            _check_classes(raws["train"], first, seen, sum(raw.frame.height for raw in raws.values()))
        labels = _labels(raws["train"], first, options, seen)
    return {
        s: Scheme(c, labels, rule, winner, mark, options.keep_unlabelled, options.on_error)
        for s, c in columns.items()
    }


def seen_labels(raws: Mapping[str, RawTable], columns: Mapping[str, Columns]) -> set[str | None]:
    """Return the different raw label values of all splits."""
    values: set[str | None] = set()
    for split, raw in raws.items():
        values |= set(label_texts(raw.frame[columns[split].one("label")]).unique().to_list())
    return values


def _answer_rule(
    raws: Mapping[str, RawTable], columns: Mapping[str, Columns]
) -> tuple[AnswerRule, tuple[str, ...]]:
    """Return how answers are to be read, and a note where their numbers would also fit counting from 1."""
    tables = [answered(raw, columns[split]) for split, raw in raws.items()]
    if tables[0].answers.null_count() == len(tables[0].answers):
        raise InputError(
            f"Every answer in column {columns['train'].one('answer')!r} of {raws['train'].where} is missing: "
            f"give rows with answers, or name another column with --columns answer={_letters(raws['train'])}"
        )
    base = columns["train"].answer_base
    if base is None and open_base(tables):
        column = columns["train"].one("answer")
        raise InputError(
            f"Column {column!r} of {raws['train'].where} has answers from 0 up to the number of choices, so where "
            f"counting starts cannot be told: {_further_option(raws['train'], columns['train'])}type --columns "
            f"answer={column}:1 if 1 is the first choice and 0 is none, "
            f"or --columns answer={column}:0 if 0 is the first choice and the largest number is none."
        )
    rule = choose_rule(tables, base)
    if rule != "from 0" or base is not None or not fits_both_bases(tables):
        return rule, ()
    column = columns["train"].one("answer")
    note = (
        f"No answer in column {column!r} is 0 or the number of choices: 0 is taken for the first choice; if 1 is, type "
        f"--columns answer={column}:1."
    )
    return rule, (note,)


def _letters(raw: RawTable) -> str:
    """Return the only column of letters of options, otherwise three dots."""
    filled = [
        c for c, dtype in raw.frame.schema.items() if dtype == pl.String and raw.frame[c].n_unique() > 1
    ]
    lettered = [c for c in filled if is_lettered(raw.frame[c])]
    return lettered[0] if len(lettered) == 1 else "…"


def _further_option(raw: RawTable, columns: Columns) -> str:
    """Return what to type if another column holds one more option; nothing where no other column could."""
    names = columns.roles["choices"]
    others = [
        c
        for c in raw.frame.columns
        if c not in columns.used and raw.frame.schema[c] == pl.String and not few_values(raw.frame[c])
    ]
    others = [c for c in others if raw.frame[c].n_unique() > 1]
    if len(names) < 2 or len(others) != 1:
        return ""
    more = [*others, *names] if names[0].rstrip().endswith("1") else [*names, *others]
    return f"type --columns choices={'+'.join(more)} if {others[0]!r} holds an option, too; "


def _marker(raw: RawTable, columns: Columns) -> str | None:
    """Return what ends the prompt in responses that have no column of prompts beside them."""
    if columns.prompt_ends_with or "prompt" in columns:
        return columns.prompt_ends_with
    names = columns.response_columns
    if any(raw.frame[name].dtype.is_nested() for name in names):
        return None
    return prompt_marker(text(raw, names[0]), text(raw, names[1]))


def _winner_rule(raws: Mapping[str, RawTable], columns: Mapping[str, Columns]) -> WinnerRule:
    first = columns["train"]
    if len(first.roles["responses"]) != 2:
        raise UsageError(
            f"A preference has two responses, not {len(first.roles['responses'])}: name them with "
            "--columns responses=A+B."
        )
    if len(first.roles["winner"]) > 1:
        return "one-hot"
    values = [raw.frame[columns[split].one("winner")] for split, raw in raws.items()]
    return winner_rule(values, first.roles["responses"], first.answer_base, raws["train"].where)


#: Values with letters, of which more than this many occur in fewer than `ROWS_PER_CLASS` rows each, are no classes.
FEW_CLASSES, ROWS_PER_CLASS = 20, 2


def _check_classes(train: RawTable, columns: Columns, seen: set[str | None], rows: int) -> None:
    """Raise if a column of labels holds answers in words: nearly every row has its own."""
    if len(seen) <= max(FEW_CLASSES, rows // ROWS_PER_CLASS):
        return
    if any(c.isalpha() for value in seen for c in value or ""):
        column = columns.one("label")
        raise InputError(
            f"Column {column!r} of {train.where} holds {len(seen):,} different values in {rows:,} rows: these are "
            "answers, not classes. Name a column of labels with --columns label=…, or read them as open answers with "
            f"--task open --columns question=…,answer={column}."
        )


def _labels(
    train: RawTable, columns: Columns, options: ReadOptions, values: Iterable[str | None]
) -> LabelScheme:
    """Return the label names: as the user maps them, otherwise as the file's metadata or the preset knows them."""
    column = columns.one("label")
    mapping = options.label_names
    if options.threshold is not None:
        mapping = {name: name for name in options.threshold.names} or None
    if mapping is None and column in train.class_names:
        mapping = {str(i): name for i, name in enumerate(train.class_names[column])}
    if options.labels is None and options.preset and options.preset.labels:
        # The file's own names for its numbers win; the preset then still maps names to names.
        preset = options.preset.labels
        mapping = {raw: preset.get(name or "", name) for raw, name in mapping.items()} if mapping else {}
        mapping = {**preset, **mapping}
    return learn_labels(
        values,
        where=train.where,
        column=column,
        mapping=mapping,
        strict=options.labels is not None,
        keep_unlabelled=options.keep_unlabelled,
    )
