"""Columns are matched to roles by their names and types, and by their values where names say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from cuecard.data.instances import Task
from cuecard.data.layout.content import few_values, texts_and_labels
from cuecard.data.layout.dialogues import is_text_list
from cuecard.data.layout.roles import (
    CONTEXT_SERIES,
    LABEL_NAMES,
    NAMES,
    ONE_HOT_WINNERS,
    PAIR_NAMES,
    PROMPT_SERIES,
    TASK_ROLES,
    WEAK_LABEL_NAMES,
    Role,
    choice_series,
    normal_name,
    response_series,
    right_and_wrong,
)

_UNNAMED = re.compile(r"column_\d+")


def by_normal_name(columns: Iterable[str]) -> dict[str, str]:
    """Return normal name → column; the field of a struct (`question.stem`) is also known by its own name."""
    listed = list(columns)
    names: dict[str, str] = {}
    for column in listed:
        names.setdefault(normal_name(column), column)
    for column in listed:
        if "." in column:
            names.setdefault(normal_name(column.rpartition(".")[2]), column)
    return names


def first_present(candidates: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the first candidate the table has; a candidate may be several columns joined by `+`."""
    for candidate in candidates:
        parts = [names.get(normal_name(part)) for part in candidate.split("+")]
        if all(part is not None for part in parts):
            return tuple(part for part in parts if part is not None)
    return ()


def fill(
    task: Task, said: Mapping[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame
) -> dict[Role, tuple[str, ...]]:
    """Return the roles of a task that the table can fill, those the user named first."""
    roles = {r: said[r] for r in (*TASK_ROLES[task], "id") if r in said}
    if task == "pair" and not {"premise", "hypothesis"} <= set(roles):
        _fill_pair(roles, names, frame)
    if task == "choice" and "choices" not in roles:
        if "premise" in names and "hypothesis" in names:
            return roles  # a pair, whatever else the table has
        _fill_choices(roles, names, frame)
    if task == "preference" and not {"chosen", "rejected"} & set(roles):
        _fill_responses(roles, names, frame)
    for role in TASK_ROLES[task]:
        if role in roles or role in ("premise", "hypothesis", "choices", "responses"):
            continue
        if (role in _NOT_BESIDE_RESPONSES and "responses" in roles) or (
            role == "winner" and "responses" not in roles
        ):
            continue
        hit = find(role, names, frame, taken=flat(roles.values()))
        if hit:
            roles[role] = hit
    return {role: roles[role] for role in (*TASK_ROLES[task], "id") if role in roles}


_NOT_BESIDE_RESPONSES = ("chosen", "rejected")


def guessed_roles(
    task: Task, said: Mapping[Role, tuple[str, ...]], frame: pl.DataFrame
) -> dict[Role, tuple[str, ...]]:
    """Return the roles of columns without names by what they hold: one or two texts, and one label.

    Empty where columns have names, or where there are more texts or labels than that.
    """
    unnamed = [c for c in frame.columns if _UNNAMED.fullmatch(c)]
    if task not in ("pair", "text") or said or len(unnamed) < 2:
        return {}
    texts, labels = texts_and_labels(frame.select(unnamed))
    if len(labels) != 1:
        return {}
    if task == "pair" and len(texts) == 2:
        return {"premise": (texts[0],), "hypothesis": (texts[1],), "label": (labels[0],)}
    return {"text": (texts[0],), "label": (labels[0],)} if task == "text" and len(texts) == 1 else {}


def _fill_pair(roles: dict[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame) -> None:
    """Add premise and hypothesis where columns match, keeping whichever the user named."""
    for first, second in PAIR_NAMES:
        premise, hypothesis = first_present([first], names), first_present([second], names)
        if not premise or not hypothesis or not all(_is_text(frame.schema[c]) for c in premise + hypothesis):
            continue
        if roles.get("premise", premise) != premise or roles.get("hypothesis", hypothesis) != hypothesis:
            continue
        roles["premise"], roles["hypothesis"] = premise, hypothesis
        return


def _fill_choices(roles: dict[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame) -> None:
    for name in NAMES["choices"]:
        if name in names and isinstance(frame.schema[names[name]], pl.List | pl.Array | pl.Struct):
            roles["choices"] = (names[name],)
            return
    both = right_and_wrong(names)
    if both and all(_is_text(frame.schema[c]) for c in both) and "answer" not in roles:
        roles["choices"], roles["answer"] = tuple(both), (both[0],)
        return
    columns = choice_series(names)
    if columns:
        roles["choices"] = tuple(columns)


def _fill_responses(
    roles: dict[Role, tuple[str, ...]], names: Mapping[str, str], frame: pl.DataFrame
) -> None:
    """Add two responses and their winner where columns are called so."""
    if "responses" not in roles:
        columns = response_series(names)
        if not columns or not all(_is_message(frame.schema[c]) for c in columns):
            return
        roles["responses"] = tuple(columns)
    for one_hot in ONE_HOT_WINNERS:
        present = [names[name] for name in one_hot if name in names]
        if "winner" not in roles and set(one_hot[:2]) <= set(names):
            roles["winner"] = tuple(present)


def find(
    role: Role, names: Mapping[str, str], frame: pl.DataFrame, *, taken: frozenset[str]
) -> tuple[str, ...]:
    """Return the column whose name is the most telling for a role and whose type can hold it."""
    if role == "prompt":
        for parts in PROMPT_SERIES:
            if all(name in names and names[name] not in taken for name in parts):
                return tuple(names[name] for name in parts)
    fits = {
        "label": _is_label,
        "answer": _is_label,
        "winner": _is_label,
        "id": _is_id,
        "chosen": _is_message,
        "rejected": _is_message,
    }
    for name in LABEL_NAMES if role == "label" else NAMES[role]:
        column = names.get(name)
        if column is not None and column not in taken and fits.get(role, _is_text)(frame.schema[column]):
            return (column,)
    if role == "label":
        for name in WEAK_LABEL_NAMES:
            column = names.get(name)
            if column is not None and column not in taken and few_values(frame[column]):
                return (column,)
    if role == "context":
        for parts in CONTEXT_SERIES:
            if all(name in names for name in parts):
                return tuple(names[name] for name in parts)
        # The parts of an array have no names: the one that is no answer, question or id is what they are about.
        unnamed = [c for c in frame.columns if _UNNAMED.fullmatch(c) and is_text_list(frame.schema[c])]
        return tuple(unnamed) if len(unnamed) == 1 else ()
    return ()


def flat(groups: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """Return the columns of all groups."""
    return frozenset(column for group in groups for column in group)


def _is_text(dtype: pl.DataType) -> bool:
    plain = dtype in (pl.String, pl.Categorical, pl.Null) or isinstance(dtype, pl.Enum)
    return plain or is_text_list(dtype)


def _is_label(dtype: pl.DataType) -> bool:
    plain = _is_text(dtype) and not isinstance(dtype, pl.List | pl.Array)
    return plain or dtype.is_numeric() or dtype == pl.Boolean


def _is_id(dtype: pl.DataType) -> bool:
    return dtype == pl.String or dtype.is_integer()


def _is_message(dtype: pl.DataType) -> bool:
    return _is_text(dtype) or isinstance(dtype, pl.List)
