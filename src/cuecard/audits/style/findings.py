"""The sentences about style: how well it predicts the preference, what drives it, and whose rank it changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Finding, severity_of
from cuecard.audits.repetition import with_distinct_texts
from cuecard.stats import state_probability
from cuecard.wording import listed, percent, plural

NAMED = 3
PHRASES = {
    "length": ("longer", "shorter"),
    "headings": ("with more headings", "with fewer headings"),
    "bold": ("with more bold text", "with less bold text"),
    "lists": ("with more list items", "with fewer list items"),
    "code": ("with more code", "with less code"),
    "emoji": ("with more emoji", "with fewer emoji"),
    "hedges": ("with more hedges", "with fewer hedges"),
    "refusals": ("with more refusal phrases", "with fewer refusal phrases"),
    "sentiment": ("with more positive words", "with more negative words"),
    "first_position": ("shown first", "shown second"),
}


def style_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """Return how well style alone predicts the choice, and models whose rank depends on it."""
    return [_explained(summary), *_ranks(summary)]


def _explained(summary: Mapping[str, Any]) -> Finding:
    accuracy, chance = summary["accuracy"], summary["chance"]
    copies = with_distinct_texts(summary["n"], summary["distinct"], "preference")
    said = (
        f"Differences in style predict the preferred response with an accuracy of {percent(accuracy['value'])} "
        f"(cross-fitted, 95 % CI {percent(accuracy['low'])} to {percent(accuracy['high'])}; chance "
        f"{percent(chance)}) on {plural(summary['n'], 'preference')}{copies}; pseudo-R² "
        f"{summary['pseudo_r2']:z.3f}, {summary['information']['value']:z.3f} bits "
        f"({state_probability('p', summary['p_value'])} for all covariates)."
    )
    clear = [row for row in summary["coefficients"] if row["q_value"] <= summary["alpha"]]
    if summary["p_value"] > summary["alpha"] or not clear or accuracy["low"] <= chance:
        title = "Style explains little of the preference"
        return Finding("style", "info", title, said + _drivers(clear), **_numbers(summary), key="style")
    gain = max(0.0, (accuracy["low"] - chance) / (1 - chance))
    title = f"Style predicts the preference: {_winners(clear[0])} win"
    return Finding(
        "style", severity_of(gain), title, said + _drivers(clear), **_numbers(summary), key="style"
    )


def _numbers(summary: Mapping[str, Any]) -> dict[str, Any]:
    accuracy = summary["accuracy"]
    return {
        "value": accuracy["value"],
        "low": accuracy["low"],
        "high": accuracy["high"],
        "chance": summary["chance"],
        "n": summary["n"],
        "q_value": min((row["q_value"] for row in summary["coefficients"]), default=None),
    }


def _drivers(clear: list[dict[str, Any]]) -> str:
    parts = []
    for row in clear[:NAMED]:
        size, low, high = (abs(row[key]) for key in ("coefficient", "low", "high"))
        low, high = sorted((low, high))
        parts.append(
            f"{_winners(row)} (log odds ratio {size:z.2f} per SD, 95 % CI {low:z.2f} to {high:z.2f})"
        )
    return f" With the other features held equal, {listed(parts)} win more often." if parts else ""


def _winners(row: Mapping[str, Any]) -> str:
    """Return which of two responses is preferred, by one feature: "shorter responses"."""
    more, less = PHRASES[row["feature"]]
    phrase = more if row["coefficient"] > 0 else less
    return f"responses {phrase}" if phrase.startswith(("with", "shown")) else f"{phrase} responses"


def _ranks(summary: Mapping[str, Any]) -> list[Finding]:
    if summary["p_value"] > summary["alpha"]:  # without an effect of style no win rate depends on it
        return []
    models = summary.get("models", [])
    moved = [row for row in models if row["change_low"] > 0 or row["change_high"] < 0]
    if not moved:
        return []
    row = max(moved, key=lambda row: abs(row["change"]))
    text = (
        f"At equal style, the win rate of {row['model']} changes from {percent(row['plain'])} to "
        f"{percent(row['controlled'])} (change {row['change'] * 100:+z.1f} points, 95 % CI "
        f"{row['change_low'] * 100:+z.1f} to {row['change_high'] * 100:+z.1f}), its rank from {row['rank']} to "
        f"{row['controlled_rank']} of {len(models)}. The win rates of {plural(len(moved), 'model')} depend on style."
    )
    title = f"Win rates of {plural(len(moved), 'model')} depend on style"
    return [
        Finding(
            "style",
            "low",
            title,
            text,
            row["change"],
            row["change_low"],
            row["change_high"],
            0.0,
            row["n"],
            key="models",
            unit="points",
            role="flaw",
        )
    ]
