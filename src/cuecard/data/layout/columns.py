"""Which column plays which role: said by the user, known from a preset, or recognised by name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

import numpy as np
import polars as pl

from cuecard.data.instances import TASKS, Task
from cuecard.data.layout.labels import label_texts, parse_threshold
from cuecard.data.layout.matching import (
    SAMPLE,
    by_normal_name,
    fill,
    find,
    first_present,
    flagged_columns,
    flat,
    guessed_roles,
    name_line,
)
from cuecard.data.layout.open_answers import is_lettered, open_notes, shorter_answers
from cuecard.data.layout.proposals import (
    ASIDE,
    Roles,
    nearest_reading,
    unrecognised,
    unused_texts,
    with_roles,
)
from cuecard.data.layout.roles import (
    GROUP_IDS,
    NAMES,
    RIGHT_NAMES,
    ROLES,
    TASK_ROLES,
    Role,
    has_gap,
    missing_roles,
    normal_name,
)
from cuecard.data.layout.scores import parse_membership
from cuecard.data.layout.texts import has_speakers, prompt_marker
from cuecard.data.presets import Preset
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.wording import listed

Schema: TypeAlias = Mapping[str, pl.DataType]
#: What a caller may write: `{"premise": "a", "choices": ["A", "B"], "answer": "gold:1", "id": None}`.
ColumnsArgument: TypeAlias = Mapping[str, str | Sequence[str] | None]


@dataclass(frozen=True)
class Columns:
    """The task and the user's columns that play each role, several where a role is read from several."""

    task: Task
    roles: Mapping[Role, tuple[str, ...]]
    explicit: frozenset[Role] = frozenset()
    #: Number that answers or winners are counted from where it is known, otherwise None: then their values decide.
    answer_base: int | None = None
    #: Where prompts are not a column of their own: what ends the beginning that both answers share.
    prompt_ends_with: str | None = None
    #: What was decided between several readings.
    notes: tuple[str, ...] = ()
    used: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "used", frozenset(c for names in self.roles.values() for c in names))

    def __contains__(self, role: Role) -> bool:
        return role in self.roles

    def one(self, role: Role) -> str:
        """Return the only column of a role."""
        return self.roles[role][0]

    @property
    def response_columns(self) -> tuple[str, ...]:
        """The two responses of a preference, the preferred one first where the columns say so."""
        return self.roles.get("responses") or (self.one("chosen"), self.one("rejected"))

    def described(self) -> dict[str, str]:
        """Return role → columns as they are shown to the user."""
        return {role: " + ".join(names) for role, names in self.roles.items()}


def parse_columns(text: str) -> dict[str, str]:
    """Return role → column from what was typed, such as `premise=a,hypothesis=b,label=c`.

    Several columns are joined by `+` (`choices=A+B+C+D`), an answer counted from 1 is `answer=COLUMN:1`, a winner
    of two responses `winner=COLUMN:1`, and `id=none` numbers the rows.
    """
    return _parse_pairs(text, option="--columns", example="premise=a,hypothesis=b,label=c")


def parse_labels(text: str) -> dict[str, str]:
    """Return value → name from what was typed, such as `0=entailment,1=neutral`; `x=` means x is no label.

    A condition such as `relatedness_score>3.6` or `labels has joy` makes two classes and names no value.
    """
    if parse_threshold(text) is not None or parse_membership(text) is not None:
        return {}
    return _parse_pairs(text, option="--labels", example="0=entailment,1=neutral")


def _parse_pairs(text: str, *, option: str, example: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in text.split(","):
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise UsageError(
                f"{option} expects NAME=VALUE parts such as {option} {example}, but got {part!r}."
            )
        if key.strip() in pairs:
            raise UsageError(f"{option} names {key.strip()!r} twice.")
        pairs[key.strip()] = value.strip()
    if not pairs:
        raise UsageError(f"{option} is empty: type, for example, {option} {example}.")
    return pairs


def recognise(
    raw: RawTable,
    *,
    task: Task | None = None,
    columns: ColumnsArgument | None = None,
    preset: Preset | None = None,
    labels_beside: Callable[[], str | None] | None = None,
    works: Callable[[Roles], bool] | None = None,
) -> Columns:
    """Return the task and the roles of the columns, or raise an error that shows the option to type.

    `columns` is what the user said and always wins; `works` says whether the first rows can be read with some roles,
    so that an error only proposes what works. The names that a preset expects are tried before others.
    Without a task, the roles that can be filled decide: an exact premise/hypothesis pair, then choice,
    preference, other pairs, and a single text last. Values decide about names that mean little, and about columns
    without names.
    """
    values, where = raw.frame, raw.where
    schema = values.schema
    if task is not None and task not in TASKS:
        raise unknown_name("task", task, list(TASKS))
    said, base, no_id = _said(columns or {}, schema, where)
    names = by_normal_name(schema)
    for role, candidates in (preset.columns if preset else {}).items():
        hit = first_present(candidates, names) if role not in said else ()
        if hit:
            said[role] = hit
    explicit = frozenset(r for r in said if columns and r in columns)
    broken = task is None and not explicit and has_gap(names)
    likely = (task,) if task else _possible_tasks(explicit)
    for candidate in () if broken or task == "open" else likely:
        roles = fill(candidate, said, names, values)
        if missing_roles(candidate, roles):
            roles = guessed_roles(candidate, said, values) or roles
        if not missing_roles(candidate, roles) and not (task is None and _names_options(roles, values)):
            if "id" not in roles and not no_id:
                hit = find("id", names, values, taken=flat(roles.values()))
                roles = {**roles, **({"id": hit} if hit else {})}
            if preset is not None:
                base = preset.answer_base if base is None else base
                return Columns(candidate, roles, explicit, base, preset.prompt_ends_with)
            placed, notes = _with_unnamed_texts(candidate, roles, explicit, values)
            notes += tuple(_other_options(roles, explicit, values))
            return Columns(candidate, placed, explicit, base, None, notes)
    found = nearest_reading(
        values, where, task, said, names, headless=raw.untyped, works=works or (lambda roles: False)
    )
    if found.is_open and (task or not broken):
        roles = dict(found.filled["open"])
        if task is None and not explicit and (rivals := shorter_answers(roles, values)):
            typed = [with_roles({**roles, "answer": (c,)}) for c in (*rivals[:2], *roles["answer"])]
            raise InputError(
                f"{where} may hold the answers in {listed([repr(c) for c in rivals[:2]])} or, as worked solutions, in "
                f"{roles['answer'][0]!r}: type {' or '.join(typed)}."
            )
        hit = () if no_id or "id" in roles else find("id", names, values, taken=flat(roles.values()))
        return Columns(
            "open", {**roles, **({"id": hit} if hit else {})}, explicit, notes=open_notes(roles, values)
        )
    raise unrecognised(found, labels_beside)


def _names_options(roles: Roles, frame: pl.DataFrame) -> bool:
    """Return whether the labels are letters of options that another column or the text lists, not classes."""
    label = roles.get("label", ())
    if len(label) != 1 or not frame.height or not is_lettered(frame[label[0]]):
        return False
    if "text" in roles and normal_name(label[0]) == "answer":
        return True
    used = flat(roles.values())
    lists = [c for c in frame.columns if c not in used and frame.schema[c] == pl.List(pl.String)]
    texts = [frame[c].head(SAMPLE) for c in lists]
    return any((one.list.len() > 1).all() for one in texts)


#: The role that a text plays whose column has another name, where the task has none.
_UNNAMED_ROLES: Mapping[Task, tuple[Role, ...]] = {
    "preference": ("prompt",),
    "choice": ("question", "context"),
}


def _with_unnamed_texts(
    task: Task, roles: Roles, explicit: frozenset[Role], frame: pl.DataFrame
) -> tuple[Roles, tuple[str, ...]]:
    """Return the roles with the only text that no name places as the prompt or the question, and what to say of it."""
    if task == "pair" and not explicit:
        return roles, (*_left_out(roles, frame), *_few_answers(roles, frame))
    absent = [r for r in _UNNAMED_ROLES.get(task, ()) if r not in roles or _is_constant(frame, roles[r])]
    if not absent or explicit or not frame.height or (task == "preference" and _share_prompts(roles, frame)):
        return roles, ()
    unused = unused_texts(frame, flat(roles.values()))
    unused = [c for c in unused if not ASIDE.search(normal_name(c)) and normal_name(c) not in NAMES["id"]]
    unused = [c for c in unused if normal_name(c) not in RIGHT_NAMES]
    if not unused:
        return roles, ()
    role = absent[0]
    if len(unused) == 1 and role != "context":
        note = f"By its values, {unused[0]!r} is read as the {role}; if it is not, type --columns with all roles."
        return {**roles, role: (unused[0],)}, (note,)
    return roles, (
        f"The texts in {listed([repr(c) for c in unused])} are not used; if one of them is the {role}, type "
        f"--columns {shlex.quote(f'{role}={unused[0]}')}.",
    )


#: Forms of a text that stand beside it.
_FORMS = re.compile(r"parse|binary|token|lemma|translat|pos_tag|parent")


def _left_out(roles: Roles, frame: pl.DataFrame) -> tuple[str, ...]:
    """Return what to say of texts that a pair with a label has no role for."""
    unused = [
        c
        for c in unused_texts(frame, flat(roles.values()))
        if not (
            ASIDE.search(normal_name(c)) or _FORMS.search(normal_name(c)) or normal_name(c) in NAMES["id"]
        )
    ]
    premise, hypothesis, label = ("+".join(roles[role]) for role in ("premise", "hypothesis", "label"))
    return tuple(
        f"The texts in {c!r} are not used; to read them as part of the premise, type --columns "
        + shlex.quote(f"premise={c}+{premise},hypothesis={hypothesis},label={label}")
        + "."
        for c in unused[:1]
    )


def _few_answers(roles: Roles, frame: pl.DataFrame) -> tuple[str, ...]:
    """Return what to say of answers in words that are few enough for labels."""
    column = roles["label"][0]
    values = frame[column].head(SAMPLE).drop_nulls()
    if normal_name(column) not in ("answer", "answers") or values.dtype != pl.String or values.n_unique() < 4:
        return ()
    return (
        f"The {values.n_unique()} different answers in {column!r} are read as labels; if they are open answers, type "
        "--task open.",
    )


def _is_constant(frame: pl.DataFrame, columns: tuple[str, ...]) -> bool:
    values = frame.select(columns).head(SAMPLE)
    plain = not any(dtype.is_nested() for dtype in values.dtypes)
    return plain and values.height > 1 and values.n_unique() == 1


def _share_prompts(roles: Roles, frame: pl.DataFrame) -> bool:
    """Return whether both responses begin with the prompt: conversations, and dialogues written as one text."""
    first, second = (
        frame[c].head(SAMPLE) for c in roles.get("responses") or (roles["chosen"][0], roles["rejected"][0])
    )
    if first.dtype != pl.String or second.dtype != pl.String:
        return has_speakers(first.dtype)
    return prompt_marker(first, second) is not None


def _other_options(
    roles: Mapping[Role, tuple[str, ...]], explicit: frozenset[Role], frame: pl.DataFrame
) -> Iterator[str]:
    """Yield a note where another column holds options that are marked as right or wrong."""
    flagged = flagged_columns(frame)
    if roles.get("answer") == roles.get("choices", ()) and "choices" not in explicit:
        for other in flagged[1:]:
            yield (
                f"The options are read from {flagged[0]!r}; to read {other!r}, type "
                f"--columns choices={other},answer={other}."
            )


def _said(
    columns: ColumnsArgument, schema: Schema, where: str
) -> tuple[dict[Role, tuple[str, ...]], int | None, bool]:
    """Return the roles the user named, where answers count from if said, and whether ids are refused."""
    named: dict[Role, tuple[str, ...]] = {}
    base: int | None = None
    no_id = False
    for key, value in columns.items():
        if key not in ROLES:
            raise unknown_name("role", key, list(ROLES))
        role: Role = key
        if role == "id" and (value is None or value == "none") and "none" not in schema:
            no_id = True
            continue
        if value is None or not value:
            raise UsageError(f"The role {role!r} has no column: type --columns {role}=COLUMN.")
        counted = role in ("answer", "winner") and isinstance(value, str) and value not in schema
        if counted and isinstance(value, str) and value[-2:] in (":0", ":1"):
            base = int(value[-1])
            value = value[:-2]
        chosen = (value,) if isinstance(value, str) and value in schema else _several(value)
        for column in chosen:
            if column not in schema:
                near = get_close_matches(column, list(schema), n=1, cutoff=0.6)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise InputError(
                    f"{where} has no column {column!r} for the role {role!r}{hint}; "
                    f"its columns are {name_line(list(schema))}."
                )
        named[role] = tuple(chosen)
    return named, base, no_id


def _several(value: str | Sequence[str]) -> list[str]:
    return [part.strip() for part in value.split("+")] if isinstance(value, str) else list(value)


def _possible_tasks(explicit: frozenset[Role]) -> tuple[Task, ...]:
    """Return the tasks that have every role the user named, in the order they are tried."""
    order: tuple[Task, ...] = ("choice", "preference", "pair", "text")
    return tuple(t for t in order if explicit - {"id"} <= set(TASK_ROLES[t])) or order


#: A recognised column repeats for at least this share of at least this many rows: then it names groups.
GROUP_SHARE = 0.5
GROUP_ROWS = 20


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids of a table's rows; `repeated` marks those already used by an earlier row."""

    values: pl.Series
    repeated: pl.Series | None = None
    #: Whether the id column turned out to name groups of rows, so that rows are numbered instead.
    group: bool = False

    def slice(self, rows: slice) -> Ids:
        """Return the ids of a range of rows."""
        n = rows.stop - rows.start
        repeated = None if self.repeated is None else self.repeated.slice(rows.start, n)
        return Ids(self.values.slice(rows.start, n), repeated, self.group)

    def filter(self, kept: pl.Series) -> Ids:
        """Return the ids of the rows that are kept; none of these repeats an id."""
        return Ids(self.values.filter(kept), None, self.group)


def row_numbers(raw: RawTable) -> pl.Series:
    """Return the rows' numbers, counted from 1, as text."""
    return pl.Series("example_id", raw.numbers_throughout).cast(pl.String)


#: The column with the number of a pair among those of its row, where one row is several pairs.
PAIR = "_pair"


def _of_pairs(raw: RawTable, ids: pl.Series) -> pl.Series:
    """Return the ids of rows with the number of the pair where one row is several pairs."""
    if PAIR not in raw.frame.columns:
        return ids
    return pl.select(pl.format("{} pair {}", ids, raw.frame[PAIR]).alias(ids.name)).to_series()


def ids_of(
    raw: RawTable,
    column: str | None,
    *,
    explicit: bool,
    unlabelled: Callable[[], pl.Series | None] = lambda: None,
) -> Ids:
    """Return the ids of all rows; a row whose id is missing is called by its number, as in "row 31".

    Rows without a label are left out later, so that they repeat no id. A recognised column names groups where most
    rows share their value, or where it is called after a group.
    """
    if column is None:
        return Ids(_of_pairs(raw, row_numbers(raw)))
    values = label_texts(raw.frame[column]).alias("example_id")
    if values.null_count():
        numbers = pl.format("row {}", row_numbers(raw))  # no id that another row has
        values = pl.select(pl.coalesce(values, numbers)).to_series().alias("example_id")
    values = _of_pairs(raw, values)
    if values.n_unique() == len(values):
        return Ids(values)
    left_out = unlabelled()
    used = pl.repeat(True, len(values), eager=True) if left_out is None else ~left_out
    own = values.filter(used)
    if own.n_unique() == len(own):
        return Ids(values)
    shared = np.asarray(own.is_duplicated())
    often = len(own) >= GROUP_ROWS and shared.mean() >= GROUP_SHARE
    if not explicit and (often or normal_name(column) in GROUP_IDS):
        return Ids(_of_pairs(raw, row_numbers(raw)), group=True)
    repeated = np.zeros(len(values), dtype=np.bool_)
    repeated[used.to_numpy()] = ~own.is_first_distinct().to_numpy()
    return Ids(values, repeated=pl.Series(repeated))
