"""Corrected predictions in the terminal: what changed, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.remedies.correction import cost_sentence
from cuecard.stats import format_p
from cuecard.wording import display_text, plural


def render_correction(metrics: Mapping[str, Any], console: Console) -> None:
    """Print both sets of predictions beside each other, and the cost in a sentence."""
    title = f"{display_text(metrics['model'], 60)} corrected for {plural(metrics['cues'], 'cue')}"
    console.print(Text(f"{title}, method {metrics['method']}", style="bold"))
    console.print(Text(tuning_note(metrics), style="dim"))
    console.print(gap_table({name: metrics[name] for name in ("before", "after")}))
    console.print(Text(cost_sentence(metrics)))


def gap_table(rows: Mapping[str, Mapping[str, float]]) -> Table:
    """Return the accuracy of predictions, over all and by whether cues have their usual label, and the gap between."""
    table = Table(
        "", "accuracy (95 % CI)", "usual label", "unusual label", "gap (95 % CI)", "p", "p within labels",
        "exact p",
        box=SIMPLE_HEAD,
    )  # fmt: skip
    for name, row in rows.items():
        table.add_row(
            name,
            f"{wording.percent(row['accuracy'])} ({100 * row['low']:.1f} to {100 * row['high']:.1f})",
            *(wording.percent(row[key]) for key in ("usual_accuracy", "unusual_accuracy")),
            f"{100 * row['gap']:+z.1f} ({100 * row['gap_low']:+z.1f} to {100 * row['gap_high']:+z.1f})",
            *(format_p(min(0.0, row[key])) for key in ("log10_p", "log10_p_within_label", "log10_p_exact")),
        )
    return table


def tuning_note(metrics: Mapping[str, Any]) -> str:
    """Return the strength, what it was chosen on, and whether the aim was reached there."""
    strengths = [" and ".join(f"{value:g}" for value in one) for one in metrics["strengths"]]
    kind = " over all examples and within labels" if len(metrics["strengths"][0]) == 2 else ""
    if metrics["tuned_on"] == "given":
        return f"Strength {strengths[0]}, as set."
    where = {
        "dev": "the dev split",
        "test": "the other folds of the test split",
        "file": "the other folds of the file, which the cues come from",
    }[metrics["tuned_on"]]
    reached = (
        ""
        if metrics["closed_where_tuned"] or metrics["aim"] != "gap"
        else "; no strength closes the gap there"
    )
    each = dict.fromkeys(strengths)
    named = (
        f"Strengths of the folds{kind}: {'; '.join(each)}"
        if len(each) > 1
        else f"Strength{kind} {strengths[0]}"
    )
    return f"{named}, tuned for the aim {metrics['aim']} on {where}{reached}."
