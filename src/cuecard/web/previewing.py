"""Look at the first rows of a data file, in a process of its own: `python -m cuecard.web.previewing`.

Standard input has the request as JSON; standard output gets the columns, what each was recognised as, and some rows.
A file that brings the reader down brings down this process, not the server.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from cuecard.data import load, parse_columns
from cuecard.data.layout.roles import TASK_ROLES
from cuecard.data.reading.sources import read_as_is, without_preset
from cuecard.errors import CueCardError
from cuecard.wording import display_text

ROWS = 6
#: Rows that are read to recognise columns and labels.
LIMIT = 400
WIDTH = 160


@dataclass(frozen=True)
class PreviewRequest:
    """A file and how it shall be read."""

    train: str
    test: str | None = None
    task: str | None = None
    columns: str | None = None
    labels: str | None = None
    header: str | None = None


def preview(request: PreviewRequest) -> dict[str, Any]:
    """Return the columns and first rows of a file, how they are understood, and what is wrong with that."""
    _, source = without_preset(request.train)
    tables = {
        split: table.flat()
        for split, table in read_as_is(source, on_error="skip", limit=LIMIT, header=request.header).items()
    }
    frame = tables["train"].frame.head(ROWS)
    answer: dict[str, Any] = {
        "columns": frame.columns,
        "rows": [[display_text(value, WIDTH) for value in row] for row in frame.iter_rows()],
        "roles": {task: [*roles, "id"] for task, roles in TASK_ROLES.items()},
        "splits": list(tables),
        "recognised": {},
        "task": request.task,
        "labels": [],
        "problem": "",
    }
    try:
        data = load(
            request.train,
            test=request.test,
            task=request.task,  # type: ignore[arg-type]
            columns=parse_columns(request.columns) if request.columns else None,
            labels=request.labels or None,
            header=request.header,
            on_error="skip",
            max_skipped=1.0,
            limit=LIMIT,
        )
    except CueCardError as error:
        return answer | {"problem": str(error)}
    counts = dict(data.train.table["label"].cast(str).value_counts().iter_rows())
    return answer | {
        "recognised": dict(data.report.recognised),
        "task": data.task,
        "labels": [{"label": label, "count": counts.get(label, 0)} for label in data.labels],
        "notes": list(data.report.notes),
        "name": data.name,
    }


def main() -> int:
    """Answer the request on standard input."""
    try:
        answer = preview(PreviewRequest(**json.load(sys.stdin)))
    except CueCardError as error:
        answer = {"columns": [], "rows": [], "problem": str(error)}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
