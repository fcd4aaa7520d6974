"""The sentences about slices: where a shortcut works better, or worse, than in the rest of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cuecard.analysis import Finding, Severity
from cuecard.audits.repetition import with_distinct_texts
from cuecard.data import Task
from cuecard.stats import state_probability
from cuecard.wording import of_responses, percent, plural, points

MOST_FINDINGS = 3
RULE_PHRASES = {
    "longest": "choosing the longest answer",
    "shortest": "choosing the shortest answer",
    "rarest_choice": "choosing the rarest answer",
    "commonest_choice": "choosing the most frequent answer",
    "position": "the position of an answer",
    "first_position": "choosing the first answer",
    "last_position": "choosing the last answer",
    "most_formatted": "choosing the answer with the most formatting",
    "most_overlap": "choosing the answer that shares the most words with the prompt",
    "length": "length",
    "metadata": "the other extra columns",
    "hypothesis_only": "the hypothesis-only model",
    "premise_only": "the premise-only model",
    "choices_only": "the choices-only model",
    "premise_least": "the least frequent training label of the premise",
    "premise_most": "the most frequent training label of the premise",
    "hypothesis_least": "the least frequent training label of the text",
    "hypothesis_most": "the most frequent training label of the text",
}
#: Rules that may work for good reasons: what is told in one text is asked of the other.
MAY_WORK = frozenset({"most_overlap"})
_NOUN = {"pair": "pair", "choice": "question", "preference": "preference", "text": "text"}


def slice_findings(summary: Mapping[str, Any], task: Task) -> list[Finding]:
    """Return the strongest slice of each shortcut that works there and differs from the rest, a few at most."""
    shown = [
        row
        for row in summary["strongest"]
        if row["significant"] and row["differs"] and not (row["rule"] in MAY_WORK and row["excess"] > 0)
    ]
    if not shown:
        text = (
            f"{plural(summary['tests'], 'test')} of {plural(len(summary['rules']), 'shortcut')} on the values of "
            f"{plural(len(summary['columns']), 'extra column')} show no slice with an accuracy different from the rest "
            "of the data."
        )
        return [Finding("slices", "info", "No slice differs from the rest of the data", text, key="none")]
    first: dict[tuple[str, str], Finding] = {}
    for row in sorted(
        shown, key=lambda row: bool(row["excess"] < 0)
    ):  # of two opposite rules, the one that works
        where = (row["column"], row["value"])
        finding = _finding(row, task)
        if where in first:  # shortcuts of one slice are one finding, the strongest leads
            first[where] = replace(first[where], parts=(*first[where].parts, finding.title))
        elif len(first) < MOST_FINDINGS:
            first[where] = finding
    return list(first.values())


def _finding(row: Mapping[str, Any], task: Task) -> Finding:
    rule = of_responses(RULE_PHRASES.get(row["rule"], str(row["rule"]).replace("_", " ")), task)
    below = row["excess"] < 0
    where = f"{row['column']} = {row['value']}"
    chance = _baseline(row)
    if row["majority"] is None:
        against = f"chance is {percent(row['chance'])}. The difference from chance is"
    else:  # the test asks whether predictions and labels are independent in the slice
        against = (
            f"the majority baseline there is {percent(row['majority'])}, and the same predictions in random order have "
            f"{percent(row['chance'])}. The difference from random order is"
        )
    text = (
        f"Where {where}, {rule} has an accuracy of {percent(row['accuracy'])} on {plural(row['n'], _NOUN[task])}"
        f"{with_distinct_texts(row['n'], row['texts'], task)} (95 % CI {percent(row['low'])} to "
        f"{percent(row['high'])}); {against} "
        f"{points(row['excess'])} points here and {points(row['rest_excess'])} on the rest of the data "
        f"({state_probability('q', row['q_value'])} over all shortcuts and slices)."
    )
    if below:
        text += " An accuracy below chance is a leak, too."
    title = f"{rule[0].upper()}{rule[1:]} {'misleads' if below else 'works'} where {where}"
    return Finding(
        "slices",
        _severity(row),
        title,
        text,
        row["accuracy"],
        row["low"],
        row["high"],
        chance,
        row["n"],
        key=f"{row['rule']}/{row['column']}={row['value']}",
        coverage=row["share"],
        q_value=row["q_value"],
    )


def _baseline(row: Mapping[str, Any]) -> float:
    """Return what an accuracy is compared with: luck; above it, where labels differ in frequency, the majority."""
    luck = float(row["chance"])
    return luck if row["majority"] is None or row["excess"] < 0 else max(luck, float(row["majority"]))


def _severity(row: Mapping[str, Any]) -> Severity:
    """Return how much of what chance leaves is surely given away, by the share of examples it concerns."""
    chance = _baseline(row)
    left = chance if row["excess"] < 0 else 1 - chance
    gain = (row["careful"] - (chance - row["chance"])) / max(left, 1e-9) * row["share"]
    return "high" if gain >= 0.15 else "medium" if gain >= 0.04 else "low"
