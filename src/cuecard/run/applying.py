"""Write a worksheet of a plan, and the new version of a dataset that a filled one describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuecard.card.card import Card
from cuecard.card.policy import Policy
from cuecard.errors import UsageError
from cuecard.remedies.plan import applied, read_worksheet, write_worksheet
from cuecard.remedies.stress_sets import as_rows
from cuecard.run.auditing import audit
from cuecard.run.plan_results import Plan
from cuecard.run.planning import plan
from cuecard.run.runner import Data, Progress, loaded
from cuecard.wording import listed, plural
from cuecard.writing import write_together


@dataclass(frozen=True, eq=False)
class Applied:
    """A new version: its files, what was changed, and the card of its audit."""

    files: tuple[Path, ...]
    summary: str
    card: Card


def plan_file(data: Data, out: Path, goal: str | Sequence[str] | Policy | Path, **options: Any) -> Plan:
    """Write the worksheet of a plan, unless nothing has to change, and return it; `options` are those of `plan`."""
    if out.suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{out} is no worksheet: write a .csv or .jsonl file with --out.")
    result = plan(data, goal, **options)
    if result.goals:
        write_worksheet(result.worksheet, out)
    return result


def apply_worksheet(
    data: Data,
    worksheet: Path,
    folder: Path,
    *,
    seed: int = 0,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Applied:
    """Write the dataset with the changes of a worksheet, one file per split, and return it with the card of its audit.

    Nothing is written unless every row of the worksheet can be applied and the audit has run.
    """
    before = loaded(data)
    changes = read_worksheet(worksheet, before)
    after = applied(before, changes)
    card = audit(after, seed=seed, progress=progress, command=command, **options)
    rows = {f"{split}.parquet": as_rows(after.split(split)).drop("split") for split in after.splits}
    write_together(folder, {name: frame.write_parquet for name, frame in rows.items()})
    counts = Counter(change.action for change in changes)
    done = [f"{action} {plural(n, 'example')}" for action, n in sorted(counts.items())]
    return Applied(tuple(folder / name for name in rows), f"Applied: {listed(done)}.", card)
