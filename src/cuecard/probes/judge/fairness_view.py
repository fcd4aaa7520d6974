"""What the tests of judges show: one table of fair, biased and undecided, with intervals."""

from __future__ import annotations

from cuecard.view import Axis, Column, Intervals, Outcome, Table, View, interval_columns
from cuecard.wording import display_text, listed, percent, points

_NAMES = {
    "padding": "padding",
    "markdown": "Markdown",
    "restating": "restating the question",
    "flattery": "flattery",
    "citation": "a made-up source",
    "number": "a wrong number",
    "negation": "a negation",
    "place": "the place where a response stands",
    "length": "length",
    "formatting": "formatting",
    "own family": "its own family",
    "people": "people's preference",
    "wording": "the wording of the question",
}
_COLUMNS = {
    "judge": Column("Judge"),
    "form": Column("Asked as"),
    "test": Column("Test"),
    "expected": Column("Should be", hint="what scores should do: stay the same, be lower, be higher"),
    "result": Column("Result", "label"),
    "effect": Column(
        "Change", "points", "of a score from 0 (lowest) to 100; slopes are per standard deviation"
    ),
    **interval_columns("", "points", brief=True),
    "p_adjusted": Column("p", "probability", "two-sided, adjusted over all tests of a judge (Holm)"),
    "n": Column("Responses", "count"),
    "detail": Column("Detail", brief=False),
}


def change_name(test: str) -> str:
    """Return what a sentence calls what a test changes."""
    return _NAMES.get(test, test)


def fairness_view(outcome: Outcome) -> View:
    """Return a sentence per judge, the table of tests, and their effects with intervals."""
    summary = outcome.summary
    lead = []
    for name, part in summary["judges"].items():
        counts = ", ".join(f"{len(part[result])} {result}" for result in ("fair", "biased", "undecided"))
        sentence = f"{display_text(name, 60)}: {counts}"
        if part["biased"]:
            sentence += f". Biased: {listed(part['biased'])}"
        lead.append(f"{sentence}.")
    notes = [
        f"Fair: the interval stays within {points(summary['margin'])} points of 100, or scores surely move as they "
        "should. Biased: significant and beyond it, or no reaction where there should be one. Undecided: too few "
        "responses to tell."
    ]
    notes += [
        f"{display_text(name, 60)}: {percent(part['missing'])} of {part['total']:,} scores could not be read."
        for name, part in summary["judges"].items()
        if part["missing"]
    ]
    rows = outcome.rows("judge_tests")
    charts = []
    if rows.height:
        charts.append(
            Intervals(
                title="What moves scores",
                data=rows,
                alt="Change of scores by each test, with 95 % CI",
                caption="0: scores do not move. A wrong number and a negation should lower them.",
                y="name",
                x=Axis("effect", "change, points of 100", "points"),
                low="low",
                high="high",
                series="judge",
                line=0.0,
            )
        )
    return View(lead, charts=charts, tables=[Table("Tests", "judge_tests", _COLUMNS)], notes=notes)
