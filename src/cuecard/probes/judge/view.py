"""What the tests of judges show: what their verdicts go with, and a table of fair, biased and undecided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import polars as pl

from cuecard.analysis import Summary
from cuecard.view import Axis, Chart, Column, Intervals, Outcome, Table, View, interval_columns
from cuecard.wording import display_text, ends, listed, percent, points

_COLUMNS = {
    "judge": Column("Judge"),
    "named": Column(
        "Depends on", hint="biases whose q-value is at most alpha; chance: κ does not differ from 0"
    ),
    "verdicts": Column("Verdicts", "count", brief=False),
    "missing": Column("Missing", "count", "verdicts without a value", brief=False),
    "consistency": Column("Consistent", "percent", "verdicts that stay when the order is swapped"),
    **interval_columns("consistency_"),
    "to_first": Column("To first", "count", "flips to the response shown first", brief=False),
    "to_second": Column("To second", "count", "flips to the response shown second", brief=False),
    "length": Column("Length", "decimal", "log odds ratio per SD at equal quality"),
    **interval_columns("length_", "decimal"),
    "accuracy": Column("Agreement", "percent", "with people"),
    "balanced": Column("Balanced", "percent", "agreement with the longer response preferred half the time"),
    "kappa": Column("κ", "decimal", "Cohen's κ with people"),
    **interval_columns("kappa_", "decimal"),
    "self_preference": Column("Own family", "points", "preference for it beyond people's", brief=False),
    "stability": Column("Stable", "percent", "repeated verdicts that agree", brief=False),
}
_TESTS = {
    "judge": Column("Judge"),
    "test": Column("Test"),
    "result": Column("Result"),
    "measured": Column("Measured (95 % CI)"),
}
_TESTED = "What was tested"
#: Biases that a sentence names.
_BIASES = {"position": "position", "length": "length", "self": "its own family"}
_COVARIATES = {
    "quality": "people's verdict",
    "length": "length",
    "formatting": "formatting",
    "first": "shown first",
}

#: A bias that surely moves fewer wins than this is none; near one half, a probability changes by a quarter of log odds.
NONE, LOGIT_SLOPE = 0.05, 0.25

#: What the summary says about a judge.
Judge = Summary


def judge_view(outcome: Outcome) -> View:
    """Return the table of judges and the chart of what they follow."""
    judges = outcome.summary["judges"]
    charts: list[Chart] = [_followed(judges)] if any(part["style"] for part in judges.values()) else []
    notes = []
    if "judge_rewards" in outcome.tables:
        notes.append(
            "Scores without their smooth part by length are in tables/judge_rewards.parquet (calibrated)."
        )
    return View(
        lead=[_sentence(name, part) for name, part in judges.items()],
        charts=charts,
        tables=[Table("Judges", "judges", _COLUMNS), judge_tests(outcome.summary)],
        notes=notes,
        front=[_TESTED],
    )


def _sentence(name: str, part: Judge) -> str:
    properties = [_BIASES[bias] for bias in part["biases"] if bias in _BIASES]
    biases = [f"depends on {listed(properties)}"] if properties else []
    if "chance" in part["biases"]:
        below = part["agreement"]["kappa"]["high"] < 0
        biases.append(f"agrees with people {'less' if below else 'no more'} than by chance")
    nothing = "no bias found" if part.get("tested", True) else "nothing could be tested"
    sentence = f"{display_text(name, 60)}: {listed(biases) or nothing}"
    if part.get("unclear"):
        sentence += "; too few verdicts to tell whether it agrees with people"
    if calibrated := part.get("calibrated"):
        sentence += (
            f"; agreement of its scores with people {percent(calibrated['score'])}, calibrated by length "
            f"{percent(calibrated['calibrated'])}"
        )
    return f"{sentence}."


def judge_tests(summary: Summary) -> Table:
    """Return a row per judge and test: what it showed, or that it could not be tested."""
    rows = [(name, *test) for name, part in summary["judges"].items() for test in _tested(part)]
    data = pl.DataFrame(rows, schema=dict.fromkeys(_TESTS, pl.String), orient="row")
    return Table(_TESTED, "", _TESTS, data=data, everywhere=True)


def _tested(part: Judge) -> Iterator[tuple[str, str, str]]:
    """Give every test of a judge with its result and what was measured."""
    order, again, own = part["position"], part["stability"], part["self_preference"]
    covariates = (part["style"] or {}).get("covariates", ())
    length = next((row for row in covariates if row["feature"] == "length"), None)
    kappa = (part["agreement"] or {}).get("kappa")
    beyond = "people" if own and own["people"] else "chance"
    for test, bias, numbers, measured in (
        ("position", "position", order, order and f"{_interval(order, 'consistency', percent)} consistent"),
        (
            "length",
            "length",
            length,
            length and f"log odds ratio {_interval(length, 'coefficient', _decimal)}",
        ),
        ("own family", "self", own, own and f"{_interval(own, 'value', points)} beyond {beyond}"),
        ("stability", "", again, again and f"{_interval(again, 'value', percent)} agree"),
        ("agreement", "chance", kappa, kappa and f"κ {_interval(kappa, 'value', _decimal)}"),
    ):
        if not numbers or measured is None:
            yield test, "not tested", ""
        elif bias in part["biases"]:
            yield test, "at or below chance" if bias == "chance" else "biased", measured
        elif not bias:
            yield test, "measured", measured
        else:
            yield test, "fair" if _surely_fair(test, numbers, part) else "undecided", measured


def _surely_fair(test: str, numbers: Judge, part: Judge) -> bool:
    """Return whether the interval of a bias lies within what counts as none: five points of wins either way."""
    if test == "agreement":
        return not part.get("unclear")
    if test == "position":
        # The share of verdicts that depend on the order times how far these surely lean one way, at most.
        moved = 1 - numbers["low"]
        return bool(max(numbers["first_high"] - 0.5, 0.5 - numbers["first_low"]) * moved <= NONE)
    scale = LOGIT_SLOPE if test == "length" else 1.0
    return bool(max(abs(numbers["low"]), abs(numbers["high"])) * scale <= NONE)


def _interval(part: Judge, value: str, write: Callable[[float | None], str]) -> str:
    return f"{write(part[value])} ({ends(part['low'], part['high'], write)})"


def _decimal(value: float | None) -> str:
    return f"{value:z.2f}".replace("-", "−")


def _followed(judges: Mapping[str, Judge]) -> Intervals:
    """Return the log odds ratio of every covariate for every judge, with its interval."""
    place = list(_COVARIATES)
    rows = [
        {
            "judge": display_text(name, 30),
            "feature": _COVARIATES[row["feature"]],
            "place": place.index(row["feature"]),
            **{key: row[key] for key in ("coefficient", "low", "high", "p_value")},
        }
        for name, part in judges.items()
        if part["style"]
        for row in part["style"]["covariates"]
    ]
    return Intervals(
        title="What verdicts follow",
        data=pl.DataFrame(rows).sort("place", maintain_order=True),
        y="feature",
        x=Axis("coefficient", "log odds ratio per standard deviation", "decimal"),
        low="low",
        high="high",
        line=0.0,
        series="judge",
        tooltip={"p_value": Column("p-value", "probability")},
        alt="Log odds ratio of quality, length, formatting and position for every judge.",
        caption="● log odds ratio with 95 % CI over prompts; 0: the verdict does not depend on it",
        name="reliance",
    )


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
_FAIRNESS_COLUMNS = {
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
    tests = Table("Tests", "judge_tests", _FAIRNESS_COLUMNS)
    return View(lead, charts=charts, tables=[tests], notes=notes, front=[tests.title])
