"""A plan in the terminal: what changes, and its predicted and verified effect side by side."""

from __future__ import annotations

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.report.texts import display_text
from cuecard.run.applying import Goal, Plan


def render_plan(plan: Plan, console: Console) -> None:
    """Print a plan."""
    if not plan.goals:
        console.print(Text("Nothing to change: the data meets every goal.", style="bold green"))
        return
    share = wording.percent(plan.changed / plan.examples)
    verb = "reaches" if plan.reached else "does not reach"
    what = f"{plan.kind} {wording.count(plan.changed)} of {wording.plural(plan.examples, 'example')}"
    what += f" ({share}{_by_split(plan)})"
    how = "" if plan.kind == "permute" else f", chosen by {plan.method}"
    console.print(Text(f"The plan {verb} its goal: {what}{how}.", style="bold"))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    for heading in ("", "Limit", "Before", "Predicted", "Verified"):
        table.add_column(heading, justify="left" if not heading else "right")
    for goal in plan.goals:
        table.add_row(*_row(goal))
    console.print(table)
    notes = ["Predicted: the same answers without these examples. Verified: an audit of the changed data."]
    if plan.kind != "permute":
        kept = wording.plural(plan.protected, "example")
        notes.insert(0, f"{kept} that contradict a strong cue are kept: they are what breaks the shortcut.")
    if not plan.reached and plan.budget is not None and plan.changed < plan.budget:
        notes.append(
            f"Further changes within the budget of {wording.count(plan.budget)} came no nearer to the goal."
        )
    if plan.kind == "rewrite":
        notes.append("The texts to rewrite do not exist yet: verified without these examples.")
    if plan.suspects:
        suspects = wording.plural(plan.suspects, "example")
        notes.append(f"{suspects} with identical input and different labels are listed to be decided.")
    for note in notes:
        console.print(Text(note, style="dim"))


def _by_split(plan: Plan) -> str:
    """Return how many of the changed examples are in which split, where several splits change."""
    changed = plan.worksheet.filter(pl.col("action") == plan.kind)["split"].value_counts(sort=True)
    if changed.height < 2:
        return ""
    return "; " + ", ".join(f"{wording.count(n)} {name}" for name, n in changed.iter_rows())


def _row(goal: Goal) -> list[str]:
    unit = goal.before.unit
    verified = wording.in_unit(goal.verified.value, unit)
    if goal.verified.low is not None and goal.verified.high is not None and unit != "count":
        low, high = (wording.in_unit(end, unit) for end in (goal.verified.low, goal.verified.high))
        verified += f" ({low} to {high})"
    return [
        display_text(goal.before.label or goal.before.name, 60),
        " and ".join(map(str, goal.rule.limits)),
        wording.in_unit(goal.before.value, unit),
        wording.in_unit(goal.predicted, unit),
        verified,
    ]
