"""A raw table becomes rows of (premise, hypothesis, label), one way for each task."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from cuecard.data.instances import COLUMNS, GROUPED_TASKS
from cuecard.data.layout.answers import AnswerRule, answered, one_right
from cuecard.data.layout.columns import PAIR, Columns, Ids, ids_of
from cuecard.data.layout.labels import UNLABELLED, label_texts
from cuecard.data.layout.open_answers import RESERVED, open_parts
from cuecard.data.layout.option_texts import question_and_options
from cuecard.data.layout.preferences import SINGLE, TIE
from cuecard.data.layout.proposals import ASIDE, unused_texts
from cuecard.data.layout.responses import preference_parts
from cuecard.data.layout.roles import NAMES, Role, normal_name
from cuecard.data.layout.scheme import Scheme
from cuecard.data.layout.texts import Parts, Problem, is_chat, joined_texts, text, text_problems
from cuecard.data.reading.files import OnError
from cuecard.data.reading.raw import RawTable
from cuecard.data.space import Space, mapped_table, write_table
from cuecard.errors import InputError
from cuecard.wording import listed, plural

#: Reasons for leaving a row out that are no fault of the row.
NO_OPTIONS = "no options"
NO_FAULT = ("missing label", "missing answer", "missing winner", "tie", SINGLE, NO_OPTIONS)


@dataclass(frozen=True, eq=False)
class Shaped:
    """Rows in the columns of `Instances`, with what was left out and notes for the user."""

    table: pl.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: Whether examples are called by their row number.
    numbered: bool = False
    #: How many rows have no text in a column of texts.
    empty: Mapping[str, int] = field(default_factory=dict)


def shape(
    raw: RawTable,
    split: str,
    scheme: Scheme,
    *,
    ids: Ids | None = None,
    types: Mapping[str, pl.DataType] | None = None,
) -> Shaped:
    """Return a raw table as rows of instances.

    `ids` and `types` are what was learned of the whole split where `raw` is a chunk of it: the ids of its rows, and
    the types of extra columns that came as text.
    """
    columns = scheme.columns
    parts = _parts(raw, scheme)
    known, ids = ids is not None, ids or _ids(raw, parts, scheme)
    problems = list(parts.problems)
    if columns.task != "text":
        problems += text_problems("premise", parts.premise)
    problems += text_problems("hypothesis" if columns.task == "pair" else columns.task, parts.hypothesis)
    if ids.repeated is not None and (not known or ids.repeated.any()):
        problems.append(_repeated(columns, ids.values, ids.repeated))
    if problems:
        usable, dropped = _usable(raw, problems, scheme.on_error)
        rest = raw.keep(usable, dropped)
        return shape(rest, split, scheme, ids=ids.filter(usable) if known else None, types=types)
    notes = (*columns.notes, *parts.notes, *_reading_notes(raw, columns))
    if ids.group:
        notes += (group_note(columns.one("id")),)
    extras = _extras(raw, columns, keep_id=ids.group, types=types)
    base = pl.DataFrame(
        {"example_id": ids.values, "premise": parts.premise, "hypothesis": parts.hypothesis}
    ).with_columns(split=pl.lit(split, dtype=pl.String))
    if columns.task in GROUPED_TASKS:
        table, rows = _grouped(base, parts, scheme)
        repeated = extras.select(pl.all().gather(rows))
        extras = pl.DataFrame([*repeated, *(table[name] for name in parts.beside)])
    else:
        labels = _answered(parts, scheme) if columns.task == "open" else _labels(raw, scheme)
        table = base.with_columns(position=pl.lit(0, dtype=pl.Int32), label=labels)
        extras = pl.DataFrame([*extras, *(values.alias(name) for name, values in parts.beside.items())])
    table = table.select(COLUMNS).hstack(extras)
    table, dropped = _labelled(table, parts, scheme)
    numbered = ids.group or "id" not in columns
    return Shaped(table, _added([raw.dropped, dropped]), notes, numbered, _empty_texts(raw, columns))


def shape_split(raw: RawTable, split: str, scheme: Scheme, space: Space) -> Shaped:
    """Return a split as rows of instances; of one that is on disk, chunk by chunk."""
    if space.folder is None or not raw.frame.height:
        shaped = shape(raw, split, scheme)
    else:
        # Row numbers are made chunk by chunk; ids must be seen together to tell which repeat one.
        ids = _ids(raw, None, scheme) if "id" in scheme.columns else None
        types = extra_types(raw, scheme.columns, keep_id=ids is not None and ids.group)
        done: list[Shaped] = []

        def chunks() -> Iterator[pl.DataFrame]:
            for rows in space.ranges(raw.frame.height):
                own = None if ids is None else ids.slice(rows)
                part = shape(raw.slice(rows), split, scheme, ids=own, types=types)
                done.append(replace(part, table=part.table.clear()))
                yield part.table

        place = space.folder / f"{split}.arrow"
        write_table(place, chunks())
        table = mapped_table(place)
        empty = _added([part.empty for part in done])
        dropped = _added([raw.dropped, *(part.dropped for part in done)])
        notes = tuple(dict.fromkeys(note for part in done for note in part.notes))
        shaped = Shaped(table, dropped, notes, done[0].numbered, empty)
    of_empty = tuple(empty_note(name, raw.where, n) for name, n in shaped.empty.items())
    return replace(shaped, notes=raw.notes + scheme.labels.notes + of_empty + shaped.notes)


def _added(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, n in each.items():
            total[name] = total.get(name, 0) + n
    return total


def _ids(raw: RawTable, parts: Parts | None, scheme: Scheme) -> Ids:
    columns = scheme.columns
    return ids_of(
        raw,
        columns.one("id") if "id" in columns else None,
        explicit="id" in columns.explicit,
        unlabelled=lambda: _unlabelled(raw, parts or _parts(raw, scheme), scheme),
    )


def empty_note(column: str, where: str, n: int) -> str:
    """Return what the user is told about rows without a text."""
    are = "it is" if n == 1 else "they are"
    return f"Column {column!r} of {where} is empty in {plural(n, 'row')}; {are} read as empty text."


def group_note(column: str) -> str:
    """Return what the user is told where an id column names groups."""
    return (
        f"Column {column!r} repeats values, so it is read as a group id and rows are "
        "numbered; to use another id column, type --columns id=OTHER."
    )


def _labels(raw: RawTable, scheme: Scheme) -> pl.Series:
    return scheme.labels.encode(label_texts(raw.frame[scheme.columns.one("label")]))


def _unlabelled(raw: RawTable, parts: Parts, scheme: Scheme) -> pl.Series | None:
    """Return which rows are left out because they have no label or answer; None where all are kept."""
    if scheme.keep_unlabelled:
        return None
    if scheme.columns.task in GROUPED_TASKS:
        return None if parts.right is None else pl.Series(parts.right < 0)
    return (_answered(parts, scheme) if scheme.columns.task == "open" else _labels(raw, scheme)).is_null()


def _answered(parts: Parts, scheme: Scheme) -> pl.Series:
    """Return the label of open answers, null where an answer is missing."""
    names = scheme.labels.names
    return (
        pl.select(pl.when(pl.lit(parts.hypothesis.is_not_null())).then(pl.lit(names[0])))
        .to_series()
        .cast(scheme.labels.dtype)
    )


def _parts(raw: RawTable, scheme: Scheme) -> Parts:
    columns = scheme.columns
    if columns.task == "pair":
        return Parts(_role(raw, columns, "premise"), _role(raw, columns, "hypothesis"))
    if columns.task == "text":
        words = _role(raw, columns, "text")
        return Parts(pl.repeat("", len(words), eager=True, dtype=pl.String), words)
    if columns.task == "preference":
        return preference_parts(raw, scheme)
    if columns.task == "open":
        return open_parts(raw, columns.roles, scheme.mark)
    return _choice(raw, scheme)


def _role(raw: RawTable, columns: Columns, role: Role) -> pl.Series:
    return joined_texts([text(raw, name) for name in columns.roles[role]])


def _choice(raw: RawTable, scheme: Scheme) -> Parts:
    columns = scheme.columns
    table = answered(raw, columns)
    texts = [_role(raw, columns, role) for role in ("context", "question") if role in columns]
    if columns.roles["choices"] == columns.roles.get("question"):
        texts[-1] = question_and_options(texts[-1])[0]
    premise = joined_texts(texts)
    assert scheme.rule is not None
    choices, right, given, drawn = one_right(table, table.positions(scheme.rule))
    counts = choices.list.len().fill_null(0).cast(pl.Int64)
    problems = []
    few = counts == 1
    if few.any():
        problems.append(Problem("fewer than two choices", "has fewer than two choices", few))
    lost = pl.Series(right < 0) & given
    if lost.any():
        problems.append(_lost_answer(raw, columns, scheme.rule, lost, int(counts[int(lost.arg_max() or 0)])))
    right = np.where((counts == 0).to_numpy(), NO_CHOICE, right)
    return Parts(premise, choices, right, tuple(problems), notes=(_SEVERAL_RIGHT,) if drawn else ())


#: In place of the right choice of a row that has no choices.
NO_CHOICE = -4
_SEVERAL_RIGHT = (
    "Some questions have several right answers: one of them, drawn by a hash of its text, stands beside the wrong "
    "ones, so that every question counts once and chance is one in the choices that are left."
)


def _lost_answer(raw: RawTable, columns: Columns, rule: AnswerRule, lost: pl.Series, choices: int) -> Problem:
    column = columns.one("answer")
    value = raw.frame[column][int(lost.arg_max() or 0)]
    how = {
        "from 0": "a number counted from 0",
        "from 1": "a number counted from 1",
        "letter": "a letter",
    }.get(rule, "the key of a choice" if rule == "key" else "the text of a choice")
    return Problem(
        "answer out of range",
        f"has the answer {value!r} in column {column!r}, which is none of its {choices} choices (read as {how})",
        lost,
        f"correct the row, set where counting starts with --columns answer={column}:1 or {column}:0"
        if rule in ("from 0", "from 1")
        else f"correct the row, or name all options with --columns choices={_all_options(raw, columns)}",
    )


def _all_options(raw: RawTable, columns: Columns) -> str:
    """Return what to type for options in columns of which one, the only further text, has another name."""
    names = columns.roles["choices"]
    further = [
        c
        for c in unused_texts(raw.frame, columns.used, words=False)
        if not ASIDE.search(normal_name(c)) and normal_name(c) not in NAMES["id"]
    ]
    return shlex.quote("+".join([*names, *further])) if len(names) > 1 and len(further) == 1 else "…"


def _repeated(columns: Columns, values: pl.Series, repeated: pl.Series) -> Problem:
    example = values[int(repeated.arg_max() or 0)]
    return Problem(
        "duplicate id",
        f"repeats the id {example!r} in column {columns.one('id')!r}",
        repeated,
        "name another id column with --columns id=OTHER, number the rows with --columns id=none",
    )


def _usable(raw: RawTable, problems: list[Problem], on_error: OnError) -> tuple[pl.Series, dict[str, int]]:
    """Return which rows have no problem and how many have each, or raise an error about the first of them."""
    if on_error == "stop":
        first = min(problems, key=lambda p: int(p.rows.arg_max() or 0))
        place = raw.place(int(first.rows.arg_max() or 0))
        raise InputError(
            f"R{place[1:]} {first.clause}: {first.remedy}, or skip such rows with --on-error skip."
        )
    bad = problems[0].rows
    dropped = {problems[0].reason: int(bad.sum())}
    for problem in problems[1:]:
        dropped[problem.reason] = dropped.get(problem.reason, 0) + int((problem.rows & ~bad).sum())
        bad = bad | problem.rows
    return ~bad, dropped


def _grouped(base: pl.DataFrame, parts: Parts, scheme: Scheme) -> tuple[pl.DataFrame, pl.Series]:
    """Return one row per choice, labelled by whether it is the right one, and the row of `base` it is from."""
    names = scheme.labels.names
    at = pl.int_ranges(0, pl.col("hypothesis").list.len(), dtype=pl.Int32)
    label = (
        pl.when(pl.col("right") < 0)
        .then(None)
        .when(pl.col("position") == pl.col("right"))
        .then(pl.lit(names[0]))
        .otherwise(pl.lit(names[1]))
        .cast(scheme.labels.dtype)
    )
    long = (
        base.with_row_index("row")
        .with_columns(position=at, right=pl.Series(parts.right), **parts.beside)
        .explode("hypothesis", "position", *parts.beside)
        .with_columns(label=label)
    )
    return long, long["row"]


def _labelled(table: pl.DataFrame, parts: Parts, scheme: Scheme) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the rows that have a label, or all with a class for those that have none, and how many went."""
    missing = table["label"].null_count()
    bare = int((parts.right == NO_CHOICE).sum()) if parts.right is not None else 0
    if not missing and not bare:
        return table, {}
    if scheme.keep_unlabelled:
        return table.with_columns(pl.col("label").fill_null(UNLABELLED)), {}
    kept = table.filter(pl.col("label").is_not_null())
    if scheme.columns.task == "choice" and parts.right is not None:
        lost = int((parts.right < 0).sum()) - bare
        return kept, {k: v for k, v in ((NO_OPTIONS, bare), ("missing answer", lost)) if v}
    if scheme.columns.task == "preference" and parts.right is not None:
        ties = int((parts.right == TIE).sum())
        lost = int((parts.right < 0).sum()) - ties
        return kept, {k: v for k, v in (("tie", ties), ("missing winner", lost)) if v}
    return kept, {"missing answer" if scheme.columns.task == "open" else "missing label": missing}


def extra_types(raw: RawTable, columns: Columns, *, keep_id: bool) -> dict[str, pl.DataType]:
    """Return the types of the user's other columns, which of a format without types their values decide."""
    kept = _extra_names(raw, columns, keep_id)
    return {name: _typed(raw.frame[name]).dtype if raw.untyped else raw.frame.schema[name] for name in kept}


def _extra_names(raw: RawTable, columns: Columns, keep_id: bool) -> list[str]:
    used = columns.used - ({columns.one("id")} if keep_id else frozenset())
    return [name for name in raw.frame.columns if name not in used and name != PAIR]


def _extras(
    raw: RawTable, columns: Columns, *, keep_id: bool, types: Mapping[str, pl.DataType] | None
) -> pl.DataFrame:
    """Return the user's other columns; one whose name instances need for themselves gets a prefix."""
    kept = _extra_names(raw, columns, keep_id)
    taken = {*COLUMNS, *(RESERVED if columns.task == "open" else ())}
    names = {name: name for name in kept if name not in taken}
    for name in kept:
        if name in taken:
            names[name] = f"original_{name}"
            while list(names.values()).count(names[name]) > 1:
                names[name] = f"original_{names[name]}"

    def typed(values: pl.Series) -> pl.Series:
        if types is not None:
            return values.cast(types[values.name])
        return _typed(values) if raw.untyped else values

    return pl.DataFrame([typed(raw.frame[name]).alias(names[name]) for name in kept])


def _typed(values: pl.Series) -> pl.Series:
    """Return text as numbers where all of it is numbers; codes such as 007 stay text."""
    if values.dtype != pl.String or values.null_count() == len(values):
        return values
    for dtype in (pl.Int64, pl.Float64):
        numbers = values.cast(dtype, strict=False)
        if numbers.null_count() == values.null_count():
            return values if values.str.contains(r"^[+-]?0\d").any() else numbers
    return values


def _empty_texts(raw: RawTable, columns: Columns) -> dict[str, int]:
    roles: tuple[Role, ...] = ("premise", "hypothesis", "text", "prompt", "chosen", "rejected")
    names = [name for role in roles for name in columns.roles.get(role, ())]
    return {name: n for name in names if (n := raw.frame[name].null_count())}


def _reading_notes(raw: RawTable, columns: Columns) -> tuple[str, ...]:
    """Return what was decided by values rather than names, for the user to check."""
    notes = []
    unnamed = [
        f"{names[0]} as {role}"
        for role, names in columns.roles.items()
        if role not in columns.explicit and names[0].startswith("column_")
    ]
    if unnamed:
        notes.append(
            f"{raw.where} has columns without names; by their values, CueCard reads {listed(unnamed)}."
        )
    if columns.task == "preference" and "prompt" not in columns:
        chats = is_chat(raw.frame[columns.response_columns[0]].dtype)
        if chats or columns.prompt_ends_with:
            notes.append(
                "There is no column of prompts: the start that both responses share is read as the prompt."
            )
    if columns.task == "choice" and columns.roles["choices"] == columns.roles.get("question"):
        notes.append(f"The options are read from inside the column {columns.one('question')!r}.")
    if columns.task == "choice" and columns.one("answer") in columns.roles["choices"] != (
        columns.one("answer"),
    ):
        notes.append(
            f"{columns.one('answer')!r} holds the right answer and other columns the wrong ones: the file has no "
            "order of choices, so positions are not tested."
        )
    return tuple(notes)
