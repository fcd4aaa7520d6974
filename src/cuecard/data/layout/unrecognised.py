"""The error for an unknown layout: roles recognised, roles missing, what to type, and the first rows."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import cast

import polars as pl

from cuecard.data.instances import TASKS, Task
from cuecard.data.layout.content import looks_headless, name_line, preview, texts_and_labels
from cuecard.data.layout.roles import REQUIRED, Role
from cuecard.errors import InputError

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
