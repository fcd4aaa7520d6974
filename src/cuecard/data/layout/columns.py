"""Which column plays which role: said by the user, known from a preset, or recognised by name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias, cast

import polars as pl

from cuecard.data.instances import TASKS, Task
from cuecard.data.layout.label_lists import parse_membership
from cuecard.data.layout.labels import parse_threshold
from cuecard.data.layout.matching import (
    SAMPLE,
    by_normal_name,
    fill,
    find,
    first_present,
    flagged_columns,
    flat,
    guessed_roles,
    looks_headless,
    name_line,
    open_answers,
    preview,
    texts_and_labels,
)
from cuecard.data.layout.roles import REQUIRED, ROLES, TASK_ROLES, Role
from cuecard.data.presets import Preset
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name

Roles = Mapping[Role, tuple[str, ...]]

#: An option value as typed; each task's line is shown when nothing is recognised.
_OPTION: Mapping[Task, str] = {
    "pair": "--columns premise=…,hypothesis=…,label=…",
    "choice": "--columns question=…,choices=…+…,answer=…",
    "preference": "--columns prompt=…,chosen=…,rejected=…",
    "text": "--columns text=…,label=…",
}


def unrecognised(
    frame: pl.DataFrame,
    where: str,
    task: Task | None,
    fill: Callable[[Task], dict[Role, tuple[str, ...]]],
    *,
    can_lack_header: bool,
    labels_beside: Callable[[], str | None] | None,
) -> InputError:
    """Return the error about columns that fill no task; `fill` returns the roles that a task finds by name."""
    start = f"The columns of {where} are not recognised: {name_line(frame.columns)}"
    rows = f" First rows: {preview(frame)}." if frame.height else ""
    if can_lack_header and looks_headless(frame):
        return InputError(
            f"{start}; they look like a row of data: type --header none if the file has no header line, "
            f"or name its columns with --header NAME,NAME,…{rows}"
        )
    nearest = task or _nearest(fill)
    by_name = fill(nearest) if nearest is not None else {}
    lacking = missing_roles(nearest, by_name) if nearest is not None else []
    if nearest is None or (not by_name and task is None):
        guessed = _guess(frame)
        options = f"--columns {_typed(guessed)}" if guessed else " or ".join(_OPTION[t] for t in TASKS)
        return InputError(f"{start}; name them with {options}.{rows}")
    beside = labels_beside() if labels_beside is not None and lacking in (["label"], ["answer"]) else None
    if beside is not None:
        option = f"--label-file {shlex.quote(beside)}"
    elif lacking == ["label"] and (threshold := _threshold(frame, by_name)) is not None:
        option = f"--labels {shlex.quote(threshold)}"
    else:
        option = f"--columns {_typed({**by_name, **_filled(frame, by_name, lacking)})}"
    roles = ", ".join(f"{role} ({' + '.join(names)})" for role, names in by_name.items())
    recognised = f"recognised {roles}; " if roles else ""
    return InputError(
        f"{start} (the task {nearest!r} needs {', '.join(lacking)}); {recognised}missing {', '.join(lacking)}: "
        f"type {option}.{rows}"
    )


def missing_roles(task: Task, roles: Roles) -> list[str]:
    """Return the roles that a task still needs."""
    lacking: list[str] = [role for role in REQUIRED[task] if role not in roles]
    if task == "preference" and "responses" in roles:
        lacking = [] if "winner" in roles else ["winner"]
    if task == "choice" and "context" not in roles and "question" not in roles:
        lacking.append("question")
    return lacking


def _nearest(fill: Callable[[Task], dict[Role, tuple[str, ...]]]) -> Task | None:
    """Return the task with the fewest roles missing, of those that find any by name besides an id."""
    filled = {task: fill(task) for task in TASKS}
    possible = [task for task in TASKS if filled[task].keys() - {"id"}]
    if not possible:
        return None
    return min(possible, key=lambda task: (len(missing_roles(task, filled[task])), -len(filled[task])))


def _guess(frame: pl.DataFrame) -> dict[Role, tuple[str, ...]]:
    """Return the roles that the values of columns suggest: one text or two, and one label."""
    texts, labels = texts_and_labels(frame)
    if not texts or not labels or len(texts) > 2:
        return {}
    if len(texts) == 1:
        return {"text": (texts[0],), "label": (labels[-1],)}
    return {"premise": (texts[0],), "hypothesis": (texts[1],), "label": (labels[-1],)}


def _threshold(frame: pl.DataFrame, by_name: Roles) -> str | None:
    """Return where a column of scores could be cut into two classes; None if there is no such column."""
    taken = {column for names in by_name.values() for column in names}
    for name, values in zip(frame.columns, frame.head(SAMPLE), strict=True):
        numbers = values.cast(pl.Float64, strict=False) if not values.dtype.is_nested() else values
        if name in taken or numbers.dtype != pl.Float64 or numbers.null_count() > values.null_count():
            continue
        if isinstance(median := numbers.median(), float) and (numbers != numbers.floor()).any():
            return f"{name}>{median:.3g}"
    return None


def _filled(frame: pl.DataFrame, by_name: Roles, lacking: list[str]) -> dict[Role, tuple[str, ...]]:
    """Return a column for every missing role whose values suit it, and … for the others."""
    taken = {column for names in by_name.values() for column in names}
    texts, labels = ([c for c in columns if c not in taken] for columns in texts_and_labels(frame))
    roles: dict[Role, tuple[str, ...]] = {}
    for name in lacking:
        role = cast("Role", name)
        wanted = labels if role in ("label", "answer", "winner") else texts
        several = role in ("choices", "responses")
        if several and len(wanted) >= 2:
            roles[role] = tuple(wanted)
            wanted.clear()
        else:
            roles[role] = (wanted.pop(0),) if wanted and not several else ("…",)
    return roles


def _typed(roles: Roles) -> str:
    text = ",".join(f"{role}={'+'.join(names)}" for role, names in roles.items())
    return text if set(text.replace("…", "")).isdisjoint(" \t'\"\\$`!*?#&;|<>()[]{}") else shlex.quote(text)


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
) -> Columns:
    """Return the task and the roles of the columns, or raise an error that shows the option to type.

    `columns` is what the user said and always wins; the names that a preset expects are tried before others.
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
    for candidate in (task,) if task else _possible_tasks(explicit):
        roles = fill(candidate, said, names, values)
        if missing_roles(candidate, roles):
            roles = guessed_roles(candidate, said, values) or roles
        if not missing_roles(candidate, roles):
            if "id" not in roles and not no_id:
                hit = find("id", names, values, taken=flat(roles.values()))
                roles = {**roles, **({"id": hit} if hit else {})}
            if preset is not None:
                base = preset.answer_base if base is None else base
                return Columns(candidate, roles, explicit, base, preset.prompt_ends_with)
            return Columns(
                candidate, roles, explicit, base, None, tuple(_other_options(roles, explicit, values))
            )
    if task is None and (answers := open_answers(names, values)):
        raise InputError(_OPEN.format(where, *answers))
    raise unrecognised(
        values,
        where,
        task,
        lambda candidate: fill(candidate, said, names, values),
        can_lack_header=raw.untyped,
        labels_beside=labels_beside,
    )


_OPEN = (
    "{0} holds open answers: {1!r} is the question, {2!r} its answer, and there are no options. No task audits open "
    "answers; if a column lists options, type --columns question={1},choices=…,answer={2}. To search a corpus for the "
    "texts, type cuecard overlap."
)


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
