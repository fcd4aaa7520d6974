"""The sentences about slices: where a shortcut works better, or worse, than in the rest of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Finding, Severity
from cuecard.data import Task
from cuecard.wording import percent, plural

MOST_FINDINGS = 3
_RULE = {
    "longest": "the longest answer",
    "shortest": "the shortest answer",
    "rarest_choice": "the rarest answer",
    "commonest_choice": "the most frequent answer",
    "position": "the position of an answer",
    "length": "length",
    "metadata": "the other extra columns",
    "hypothesis_only": "the hypothesis alone",
    "premise_only": "the premise alone",
    "choices_only": "the answers alone",
    "premise_least": "the label that the premise has least in the training set",
    "premise_most": "the label that the premise has most in the training set",
    "hypothesis_least": "the label that the text has least in the training set",
    "hypothesis_most": "the label that the text has most in the training set",
}
_NOUN = {"pair": "pair", "choice": "question", "preference": "preference", "text": "text"}


def slice_findings(summary: Mapping[str, Any], task: Task) -> list[Finding]:
    """Return the strongest slice of each shortcut that works there and differs from the rest, a few at most."""
    shown = [row for row in summary["strongest"] if row["significant"] and row["differs"]]
    if not shown:
        text = (
            f"{plural(summary['tests'], 'test')} of {plural(len(summary['rules']), 'shortcut')} on the values of "
            f"{plural(len(summary['columns']), 'extra column')}: on no slice does one of them work better or worse "
            "than on the rest of the data."
        )
        return [Finding("slices", "info", "Shortcuts work alike on all slices", text, key="none")]
    return [_finding(row, task) for row in shown[:MOST_FINDINGS]]


def _finding(row: Mapping[str, Any], task: Task) -> Finding:
    rule = _RULE.get(row["rule"], str(row["rule"]).replace("_", " "))
    below = row["excess"] < 0
    where = f"{row['column']} = {row['value']}"
    text = (
        f"Where {where}, {rule} has an accuracy of {percent(row['accuracy'])} on {plural(row['n'], _NOUN[task])} "
        f"(95 % CI {percent(row['low'])} to {percent(row['high'])}); the same guesses get {percent(row['chance'])} by "
        f"luck. On the rest of the data it is {100 * row['rest_excess']:+.1f} points from luck, here "
        f"{100 * row['excess']:+.1f} (q = {row['q_value']:.2g} over all shortcuts and slices)."
    )
    if below:
        text += " Wrong more often than luck is a leak turned round."
    title = f"{rule[0].upper()}{rule[1:]} {'misleads' if below else 'works'} where {where}"
    return Finding(
        "slices",
        _severity(row),
        title,
        text,
        row["accuracy"],
        row["low"],
        row["high"],
        row["chance"],
        row["n"],
        key=f"{row['rule']}/{row['column']}={row['value']}",
        q_value=row["q_value"],
    )


def _severity(row: Mapping[str, Any]) -> Severity:
    """Return how much of what luck leaves is surely given away, by the share of examples it concerns."""
    left = row["chance"] if row["excess"] < 0 else 1 - row["chance"]
    gain = row["careful"] / max(left, 1e-9) * row["share"]
    return "high" if gain >= 0.15 else "medium" if gain >= 0.04 else "low"
