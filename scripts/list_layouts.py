"""Write docs/layouts.md: first rows of public layouts, what they are read as, and the command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "data" / "layout"))

# ruff: noqa: E402
from catalogue import CHOICE, OPEN, PAIR, PREFERENCE, TEXT, Layout

from cuecard.cli.options.data import first_example
from cuecard.data import load
from cuecard.errors import CueCardError
from cuecard.wording import left_out

PAGE = ROOT / "docs" / "layouts.md"
WIDTH = 320
OPENING = """# Your file looks like this

Rows in the layouts of public datasets, with the task and the columns that CueCard reads them as. The rows are made up;
only names and shapes of columns are those of the datasets. Each layout is a test: `scripts/list_layouts.py` reads the
same rows and writes this page.

A column that holds something else under one of these names is not guessed: the error names the nearest reading, tried
on your rows, and the option to type. {figures}
"""
FIGURES = (
    "Of {changed} layouts with a column renamed, other spelling or further columns, all but {known} are read right, or "
    "refused with a line that reads them right when pasted; {held} further layouts, set aside while the recognition "
    "was written, are never read wrong (`tests/data/layout/test_held_out_layouts.py`)."
)
TITLES = {
    "Multiple choice": CHOICE,
    "Preferences": PREFERENCE,
    "Pairs": PAIR,
    "Texts": TEXT,
    "Open answers": OPEN,
}


def page() -> str:
    """Return the page of layouts as Markdown."""
    from held_out import HELD_OUT
    from test_held_out_layouts import KNOWN, mutations

    changed = sum(1 for _ in mutations())
    figures = FIGURES.format(changed=changed, known=len(KNOWN), held=len(HELD_OUT))
    parts = [OPENING.format(figures=figures)]
    for title, layouts in TITLES.items():
        parts.append(f"## {title}\n")
        parts += [entry(layout) for layout in layouts]
    return "\n".join(parts).rstrip() + "\n"


def entry(layout: Layout) -> str:
    """Return what the page says of one layout."""
    row = json.dumps(layout.row(0), ensure_ascii=False)
    shown = row if len(row) <= WIDTH else row[: WIDTH - 1] + "…"
    option = f" {layout.command}" if layout.options else ""
    return (
        f"### {layout.name[:1].upper()}{layout.name[1:]}\n\n```text\n{shown}\n```\n\n"
        f"`cuecard audit train.jsonl{option}`: {outcome(layout)}\n"
    )


def outcome(layout: Layout) -> str:
    """Return what the rows of a layout are read as, or why they are refused."""
    try:
        data = load(layout.table, **layout.options)
    except CueCardError as error:
        return str(error).replace("the given table", "the file").partition(" If a column")[0]
    roles = ", ".join(f"{role} = `{column}`" for role, column in data.report.recognised.items())
    notes = [note.replace("the given table", "the file") for note in data.report.notes]
    notes += [f"Left out: {left_out(reason, n)}." for reason, n in data.report.dropped.items()]
    example = first_example(data).replace("is read as", "is").replace("<", "&lt;")
    return " ".join([f"**{data.task}**; {roles}. {example}.", *notes])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
