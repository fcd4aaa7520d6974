"""A finished training run in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard.report import numbers
from cuecard.report.texts import display_text

#: Labels whose recall is shown; more have their place in `metrics.json`.
MOST_LABELS = 5


def render_training(metrics: Mapping[str, Any], console: Console) -> None:
    """Print what was trained and how good it is on every split."""
    reads = {"full": "everything"}.get(metrics["condition"], f"the {metrics['condition']} only")
    console.print(
        Text(
            f"{metrics['model']} trained on {metrics['train_examples']:,} examples of "
            f"{display_text(metrics['data']['name'], 60)}, reading {reads}",
            style="bold",
        )
    )
    said = f"{metrics['seconds']['training']:.1f} s of training"
    if metrics["weights"] is not None:
        kept = numbers.percent(metrics["weights"]["effective_share"])
        said += f", weighted (effective sample size {kept} of the examples)"
    console.print(Text(said, style="dim"))
    console.print(_table(metrics["splits"]))


def _table(splits: Mapping[str, Mapping[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim")
    table.add_column("Split")
    columns = ["Examples", "Right", "95 % interval", "Chance", "Log loss", "Calibration error"]
    names = [name for part in splits.values() for name in part["labels"]]
    labels = list(dict.fromkeys(names))[:MOST_LABELS]
    for name in [*columns, *(f"found of {display_text(label, 20)}" for label in labels)]:
        table.add_column(name, justify="right")
    for name, part in splits.items():
        table.add_row(
            name,
            numbers.count(part["examples"]),
            numbers.percent(part["accuracy"]),
            f"{100 * part['low']:.1f} – {100 * part['high']:.1f}",
            numbers.percent(part["chance"]),
            f"{part['log_loss']:.3f}",
            f"{part['calibration_error']:.3f}",
            *(numbers.percent((part["labels"].get(label) or {}).get("recall")) for label in labels),
        )
    return table
