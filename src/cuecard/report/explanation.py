"""One cue in depth, in the terminal and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict

import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard.audits.explain import Explanation
from cuecard.report import numbers
from cuecard.report.texts import display_text
from cuecard.stats import format_p


def explanation_json(explanation: Explanation) -> str:
    """Return the explanation as JSON."""
    document = {
        "family": explanation.family,
        "feature": explanation.feature,
        "association": explanation.association,
        "touched": explanation.touched,
        "shares": explanation.shares.to_dicts(),
        "companions": explanation.companions.to_dicts(),
        "examples": {label: [asdict(e) for e in shown] for label, shown in explanation.examples.items()},
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def render_explanation(explanation: Explanation, console: Console) -> None:
    """Print what the data says about one cue."""
    name = display_text(explanation.feature, 80)
    console.print(Text.assemble((name, "bold"), f"  ({explanation.family})"))
    console.print(_lead(explanation))
    console.print(_shares(explanation.shares))
    if not explanation.companions.is_empty():
        console.print(_companions(explanation.companions))
    for label, shown in explanation.examples.items():
        if shown:
            console.print(Text(f"{label}", style="bold"))
        for evidence in shown:
            line = Text("  ")
            if evidence.premise:
                line.append(display_text(evidence.premise, 160) + "  →  ", style="dim")
            line.append(display_text(evidence.hypothesis, 200))
            console.print(line)


def _lead(explanation: Explanation) -> Text:
    a = explanation.association
    p = format_p(float(str(a["log10_p"])) * 2.302585092994046)
    touched = ", ".join(
        f"{numbers.percent(share)} of {split}" for split, share in explanation.touched.items()
    )
    return Text(
        f"It points to {a['label']}: {numbers.percent(float(str(a['share'])))} of its train instances, "
        f"{float(str(a['lift'])):.2f} times the expected share (z = {float(str(a['z'])):.1f}, exact p = {p}). "
        f"It touches {touched}. Cueness {float(str(a['cueness'])):.2f}."
    )


def _shares(shares: pl.DataFrame) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    for column in ("Split", "Label"):
        table.add_column(column)
    for column in ("With it", "Share", "95 % interval", "Chance"):
        table.add_column(column, justify="right")
    for row in shares.iter_rows(named=True):
        if row["share"] is None:
            share, interval = "–", "–"
        else:
            share = numbers.percent(row["share"])
            interval = f"{numbers.percent(row['share_low'])} to {numbers.percent(row['share_high'])}"
        table.add_row(
            row["split"], row["label"], f"{row['count']:,}", share, interval, numbers.percent(row["prior"])
        )
    return table


def _companions(companions: pl.DataFrame) -> Text:
    words = ", ".join(
        f"{display_text(word, 40)} (×{lift:.1f})"
        for word, lift in companions.select("word", "lift").iter_rows()
    )
    return Text(f"Travels with: {words}\n")
