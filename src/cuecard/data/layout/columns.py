"""Which column plays which role: said by the user, known from a preset, or recognised by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

import polars as pl

from cuecard.data.instances import TASKS, Task
from cuecard.data.layout.roles import (
    CONTEXT_SERIES,
    NAMES,
    PAIR_NAMES,
    REQUIRED,
    ROLES,
    TASK_ROLES,
    Role,
    choice_series,
    normal_name,
)
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name

Schema: TypeAlias = Mapping[str, pl.DataType]
#: What a caller may write: `{"premise": "a", "choices": ["A", "B"], "answer": "gold:1", "id": None}`.
ColumnsArgument: TypeAlias = Mapping[str, str | Sequence[str] | None]
#: An option value as typed; each task's line is shown when nothing is recognised.
_OPTION: Mapping[Task, str] = {
    "pair": "--columns premise=…,hypothesis=…,label=…",
    "choice": "--columns question=…,choices=…+…,answer=…",
    "preference": "--columns prompt=…,chosen=…,rejected=…",
    "text": "--columns text=…,label=…",
}


@dataclass(frozen=True)
class Columns:
    """The task and the user's columns that play each role, several where a role is read from several."""

    task: Task
    roles: Mapping[Role, tuple[str, ...]]
    explicit: frozenset[Role] = frozenset()
    #: Number the answers are counted from where it is known, else None: then the answers themselves decide.
    answer_base: int | None = None
    #: Where prompts are not a column of their own: what ends the beginning that both answers share.
    prompt_ends_with: str | None = None
    used: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "used", frozenset(c for names in self.roles.values() for c in names))

    def __contains__(self, role: Role) -> bool:
        return role in self.roles

    def one(self, role: Role) -> str:
        """Return the only column of a role."""
        return self.roles[role][0]

    def described(self) -> dict[str, str]:
        """Return role → columns as they are shown to the user."""
        return {role: " + ".join(names) for role, names in self.roles.items()}


def parse_columns(text: str) -> dict[str, str]:
    """Return role → column from what was typed, such as `premise=a,hypothesis=b,label=c`.

    Several columns are joined by `+` (`choices=A+B+C+D`), an answer counted from 1 is `answer=COLUMN:1`, and
    `id=none` numbers the rows.
    """
    return _parse_pairs(text, option="--columns", example="premise=a,hypothesis=b,label=c")


def parse_labels(text: str) -> dict[str, str]:
    """Return value → name from what was typed, such as `0=entailment,1=neutral`; `x=` means x is no label."""
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
        raise UsageError(f"{option} is empty; it expects something like {option} {example}.")
    return pairs


def recognise(
    schema: Schema,
    *,
    where: str,
    task: Task | None = None,
    columns: ColumnsArgument | None = None,
    known: Mapping[Role, Sequence[str]] | None = None,
    answer_base: int | None = None,
    prompt_ends_with: str | None = None,
) -> Columns:
    """Return the task and the roles of the columns, or raise an error that shows the option to type.

    `columns` is what the user said and always wins; `known` are names a preset expects, tried before others.
    Without a task, the roles that can be filled decide: an exact premise/hypothesis pair, then choice,
    preference, other pairs, and a single text last.
    """
    if task is not None and task not in TASKS:
        raise unknown_name("task", task, list(TASKS))
    said, base, no_id = _said(columns or {}, schema, where)
    names = _by_normal_name(schema)
    for role, candidates in (known or {}).items():
        if role in said:
            continue
        hit = _first_known(candidates, names, schema)
        if hit:
            said[role] = hit
    explicit = frozenset(r for r in said if columns and r in columns)
    possible = (task,) if task else _possible_tasks(explicit)
    for candidate in possible:
        roles = _fill(candidate, said, names, schema, exact="premise" in names and "hypothesis" in names)
        if roles is not None:
            if "id" not in roles and not no_id:
                found = _find("id", names, schema, taken=_flat(roles.values()))
                roles = {**roles, **({"id": found} if found else {})}
            return Columns(
                candidate, roles, explicit, base if base is not None else answer_base, prompt_ends_with
            )
    raise _unrecognised(schema, where, task, said)


def _said(
    columns: ColumnsArgument, schema: Schema, where: str
) -> tuple[dict[Role, tuple[str, ...]], int | None, bool]:
    """Return the roles the user named, where answers count from if said, and whether ids are refused."""
    said: dict[Role, tuple[str, ...]] = {}
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
            raise UsageError(f"The role {role!r} is given no column.")
        if role == "answer" and isinstance(value, str) and value not in schema and value[-2:] in (":0", ":1"):
            base = int(value[-1])
            value = value[:-2]
        chosen = (value,) if isinstance(value, str) and value in schema else _several(value)
        for column in chosen:
            if column not in schema:
                near = get_close_matches(column, list(schema), n=1, cutoff=0.6)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise InputError(
                    f"{where} has no column {column!r} for the role {role!r}{hint}; "
                    f"its columns are {_listed(schema)}."
                )
        said[role] = tuple(chosen)
    return said, base, no_id


def _several(value: str | Sequence[str]) -> list[str]:
    return [part.strip() for part in value.split("+")] if isinstance(value, str) else list(value)


def _by_normal_name(schema: Schema) -> dict[str, str]:
    """Return normal name → column; the field of a struct (`question.stem`) is also known by its own name."""
    names: dict[str, str] = {}
    for column in schema:
        names.setdefault(normal_name(column), column)
    for column in schema:
        if "." in column:
            names.setdefault(normal_name(column.rpartition(".")[2]), column)
    return names


def _first_known(candidates: Sequence[str], names: Mapping[str, str], schema: Schema) -> tuple[str, ...]:
    """Return the first candidate the table has; a candidate may be several columns joined by `+`."""
    for candidate in candidates:
        parts = [names.get(normal_name(part)) for part in candidate.split("+")]
        if all(part is not None for part in parts):
            return tuple(part for part in parts if part is not None)
    return ()


def _possible_tasks(explicit: frozenset[Role]) -> tuple[Task, ...]:
    """Return the tasks that have every role the user named, in the order they are tried."""
    order: tuple[Task, ...] = ("choice", "preference", "pair", "text")
    return tuple(t for t in order if explicit - {"id"} <= set(TASK_ROLES[t])) or order


def _fill(
    task: Task,
    said: Mapping[Role, tuple[str, ...]],
    names: Mapping[str, str],
    schema: Schema,
    *,
    exact: bool,
) -> dict[Role, tuple[str, ...]] | None:
    """Return all roles of a task that the table can fill, or None if a required one stays empty."""
    roles = {r: said[r] for r in (*TASK_ROLES[task], "id") if r in said}
    if task == "choice" and exact and "choices" not in said:
        return None
    if task == "pair" and not {"premise", "hypothesis"} <= set(roles):
        _fill_pair(roles, names, schema)
    if task == "choice" and "choices" not in roles:
        found = _find_choices(names, schema)
        if found:
            roles["choices"] = found
    for role in TASK_ROLES[task]:
        if role in roles or role in ("premise", "hypothesis", "choices"):
            continue
        found = _find(role, names, schema, taken=_flat(roles.values()))
        if found:
            roles[role] = found
    if any(role not in roles for role in REQUIRED[task]):
        return None
    if task == "choice" and "context" not in roles and "question" not in roles:
        return None
    return {role: roles[role] for role in (*TASK_ROLES[task], "id") if role in roles}


def _fill_pair(roles: dict[Role, tuple[str, ...]], names: Mapping[str, str], schema: Schema) -> None:
    """Add premise and hypothesis where two columns match, keeping whichever the user named."""
    for first, second in PAIR_NAMES:
        if first not in names or second not in names:
            continue
        pair = (names[first], names[second])
        if not all(_is_text(schema[c]) for c in pair):
            continue
        if roles.get("premise", pair[:1]) != pair[:1] or roles.get("hypothesis", pair[1:]) != pair[1:]:
            continue
        roles["premise"], roles["hypothesis"] = (pair[0],), (pair[1],)
        return


def _find_choices(names: Mapping[str, str], schema: Schema) -> tuple[str, ...]:
    for name in NAMES["choices"]:
        if name in names and isinstance(schema[names[name]], pl.List | pl.Array | pl.Struct):
            return (names[name],)
    return tuple(choice_series(names))


def _find(role: Role, names: Mapping[str, str], schema: Schema, *, taken: frozenset[str]) -> tuple[str, ...]:
    """Return the column whose name is the most telling for a role and whose type can hold it."""
    fits = {
        "label": _is_label,
        "answer": _is_label,
        "id": _is_id,
        "chosen": _is_message,
        "rejected": _is_message,
    }
    for name in NAMES[role]:
        column = names.get(name)
        if column is not None and column not in taken and fits.get(role, _is_text)(schema[column]):
            return (column,)
    if role == "context":
        for series in CONTEXT_SERIES:
            if all(name in names for name in series):
                return tuple(names[name] for name in series)
    return ()


def _flat(groups: Iterable[tuple[str, ...]]) -> frozenset[str]:
    return frozenset(column for group in groups for column in group)


def _is_text(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Categorical, pl.Null) or isinstance(dtype, pl.Enum)


def _is_label(dtype: pl.DataType) -> bool:
    return _is_text(dtype) or dtype.is_numeric() or dtype == pl.Boolean


def _is_id(dtype: pl.DataType) -> bool:
    return dtype == pl.String or dtype.is_integer()


def _is_message(dtype: pl.DataType) -> bool:
    return _is_text(dtype) or isinstance(dtype, pl.List)


def _listed(schema: Iterable[str]) -> str:
    return ", ".join(schema) or "none"


def _unrecognised(
    schema: Schema, where: str, task: Task | None, said: Mapping[Role, tuple[str, ...]]
) -> InputError:
    shown = (task,) if task else tuple(_OPTION)
    missing = ""
    if task:
        lacking = [r for r in REQUIRED[task] if r not in said]
        missing = f" (the task {task!r} needs {', '.join(lacking)})" if lacking else ""
    options = " or ".join(_OPTION[t] for t in shown)
    return InputError(
        f"The columns of {where} are not recognised: {_listed(schema)}{missing}; "
        f"say which is which with {options}."
    )
