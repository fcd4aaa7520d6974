"""Presets in the terminal: a list, and one in full."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cuecard.data import Preset


def preset_list(presets: Sequence[Preset]) -> RenderableType:
    """Return a table of presets with the task and the papers of each."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for column in ("Preset", "Task", "What it is", "Studied in"):
        table.add_column(column)
    for preset in presets:
        table.add_row(preset.name, preset.task, preset.description, ", ".join(preset.papers))
    hint = Text(
        "Use one with `cuecard audit preset:NAME@PATH`, see it in full with `cuecard tools datasets NAME`."
    )
    return Group(table, hint)


def preset_detail(preset: Preset) -> RenderableType:
    """Return everything a preset knows, with the commands that use it."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    rows = {
        "Task": preset.task,
        "What it is": preset.description,
        "Columns": ", ".join(f"{role}={'+'.join(names)}" for role, names in preset.columns.items()),
        "Labels": ", ".join(f"{value}={name}" for value, name in preset.labels.items()),
        "Studied in": ", ".join(preset.papers),
        "Licence": preset.licence,
        "On the Hub": f"{preset.hf}{'/' + preset.config if preset.config else ''}" if preset.hf else "",
        "From": preset.url or "",
    }
    for name, value in rows.items():
        if value:
            table.add_row(Text(name, style="bold"), Text(value))
    commands = [f"cuecard audit preset:{preset.name}@FILE_OR_FOLDER"]
    if preset.hf:
        commands.append(
            f"cuecard audit preset:{preset.name}    (from the Hub; needs pip install 'cuecard[hf]')"
        )
    return Group(Text(preset.title, style="bold"), table, Text(), *(Text(command) for command in commands))
