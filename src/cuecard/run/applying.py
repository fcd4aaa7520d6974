"""Write a worksheet of a plan, and the new version of a dataset that a filled one describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuecard.card.card import Card
from cuecard.card.files import staged_card
from cuecard.card.policy import Policy
from cuecard.data.files.sources import SPLITS
from cuecard.errors import UsageError
from cuecard.remedies.plan.worksheet import applied, read_worksheet, write_worksheet
from cuecard.remedies.stress_sets import as_rows
from cuecard.run.auditing import audit
from cuecard.run.plan_results import Plan
from cuecard.run.planning import plan
from cuecard.run.runner import Data, Progress, loaded
from cuecard.wording import listed, plural

#: Where the card of a new version belongs, beside its data.
AUDIT_FOLDER = "audit"


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
    drawn: Callable[[Card], str] | None = None,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Applied:
    """Write the dataset with the changes of a worksheet and the card of its audit, all of it or nothing.

    Args:
        data: the dataset that the worksheet was written for.
        worksheet: the filled worksheet; every row must be applicable.
        folder: gets one file per split, and the card in `audit/`.
        seed: seed of the audit.
        drawn: returns the report of a card, which is written beside it.
        progress: called with each audit's title; returns a context manager the audit runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the audits.
    """
    before = loaded(data)
    changes = read_worksheet(worksheet, before)
    after = applied(before, changes)
    card = audit(after, seed=seed, progress=progress, command=command, **options)
    rows = {f"{split}.parquet": as_rows(after.split(split)).drop("split") for split in after.splits}
    with staged_card(
        card,
        folder,
        drawn(card) if drawn else None,
        subfolder=AUDIT_FOLDER,
        beside={name: frame.write_parquet for name, frame in rows.items()},
        stale=[f"{split}.parquet" for split in SPLITS],
    ):
        pass
    counts = Counter(change.action for change in changes)
    done = [f"{action} {plural(n, 'example')}" for action, n in sorted(counts.items())]
    return Applied(tuple(folder / name for name in rows), f"Applied: {listed(done)}.", card)
