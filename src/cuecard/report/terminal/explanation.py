"""One cue in depth, in the terminal and as JSON."""

from __future__ import annotations

import io
import json
import math
from dataclasses import asdict

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.audits.cues.explain import Explanation
from cuecard.report.findings import highlight
from cuecard.report.terminal.card import headed
from cuecard.stats import format_p, state_probability
from cuecard.wording import display_text, listed

_SETS = {"train": "training set", "test": "test set"}


def explanation_json(explanation: Explanation) -> str:
    """Return the explanation as JSON; a number that is not finite is null."""
    document = {
        "family": explanation.family,
        "feature": explanation.feature,
        "sentence": explanation.sentence,
        "association": explanation.association,
        "touched": explanation.touched,
        "shares": explanation.shares.to_dicts(),
        "companions": explanation.companions.to_dicts(),
        "also": list(explanation.also),
        "examples": {label: [asdict(e) for e in shown] for label, shown in explanation.examples.items()},
    }
    return json.dumps(_finite(document), indent=2, ensure_ascii=False, allow_nan=False)


def explanation_text(explanation: Explanation) -> str:
    """Return what the terminal shows, without colours."""
    out = io.StringIO()
    render_explanation(explanation, Console(file=out, width=80, force_terminal=False))
    return out.getvalue().rstrip()


def explanation_html(explanation: Explanation) -> str:
    """Return what the terminal shows, as preformatted text for a notebook cell."""
    console = Console(file=io.StringIO(), width=100, record=True)
    render_explanation(explanation, console)
    return console.export_html(inline_styles=True, code_format='<pre dir="auto">{code}</pre>')


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def render_explanation(explanation: Explanation, console: Console) -> None:
    """Print the statistics of one cue in the data."""
    name = display_text(explanation.feature, 80)
    console.print(Text.assemble((name, "bold"), f"  ({display_text(explanation.family, 40)})"))
    console.print(_lead(explanation))
    console.print(_shares(explanation.shares))
    if explanation.sentence:
        console.print(
            Text(
                "The table counts every instance, copies too, and its CIs are Wilson intervals. The sentence above the "
                "table counts copies of a text once and corrects its CI for selecting this cue among many.\n",
                style="dim",
            )
        )
    if not explanation.companions.is_empty():
        console.print(_companions(explanation.companions))
    usual = str((explanation.association or {}).get("label", ""))
    for label in sorted(explanation.examples, key=lambda label: label != usual):
        shown = explanation.examples[label]
        if shown:
            kind = "Examples" if label == usual or not usual else "Counter-examples"
            console.print(Text.assemble((kind, "bold"), f", labelled {display_text(label, 80)}:"))
        for evidence in shown:
            line = Text("  ")
            if evidence.premise:
                line.append(display_text(evidence.premise, 160) + "  →  ", style="dim")
            for piece in highlight(evidence.hypothesis, evidence.highlight, limit=200):
                line.append(piece.text, style="bold" if piece.marked else "")
            console.print(line)
    if explanation.also:
        others = ", ".join(repr(display_text(name, 60)) for name in explanation.also)
        console.print(Text(f"The name can also mean {others}.", style="dim"))


def _lead(explanation: Explanation) -> Text:
    touched = listed(
        [
            f"{wording.percent(share)} of the {display_text(_SETS.get(split, split), 40)}"
            for split, share in explanation.touched.items()
        ]
    )
    a = explanation.association
    if a is None:
        return Text(
            f"It does not occur in the training set, so it predicts no label. It occurs in {touched}."
        )
    share, lift, z, log10_p, cueness = (
        float(str(a[key])) for key in ("share", "lift", "z", "log10_p", "cueness")
    )
    q = a.get("q_value")
    tested = f", {state_probability('q', float(str(q)))}" if q is not None else ""
    statistics = f"z = {wording.decimal(z)}, exact p = {format_p(log10_p)}{tested}"
    if explanation.sentence:
        lead = f"{display_text(explanation.sentence, 1000)} The share is {wording.decimal(lift)} times that of chance "
    else:
        lead = (
            f"It is associated with {display_text(a['label'], 80)}: {wording.percent(share)} of the training instances "
            f"with it, {wording.decimal(lift)} times the expected share "
        )
    return Text(f"{lead}({statistics}). It occurs in {touched}. Cueness {wording.decimal(cueness)}.")


def _shares(shares: pl.DataFrame) -> Table:
    table = headed("Split", "Label", "Instances", "Share", "95 % CI", "Chance", left=2)
    for row in shares.iter_rows(named=True):
        if row["share"] is None:
            share, interval = "–", "–"
        else:
            share = wording.percent(row["share"])
            interval = f"{wording.percent(row['share_low'])} to {wording.percent(row['share_high'])}"
        label, prior = display_text(row["label"], 80), wording.percent(row["prior"])
        cells = (row["split"], label, f"{row['count']:,}", share, interval, prior)
        table.add_row(*map(Text, cells))  # a string would be read as markup
    return table


def _companions(companions: pl.DataFrame) -> Text:
    words = ", ".join(
        f"{display_text(word, 40)} (×{lift:.1f})"
        for word, lift in companions.select("word", "lift").iter_rows()
    )
    return Text(f"Co-occurs with: {words}\n")
