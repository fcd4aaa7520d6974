"""What judges follow besides quality: one row per judge, and a chart of what their verdicts go with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, SectionView, TableView, drawn
from cuecard.wording import display_text, listed

_COLUMNS = {
    "judge": Column("Judge"),
    "named": Column(
        "Depends on", hint="biases whose q-value is at most alpha; chance: κ does not differ from 0"
    ),
    "verdicts": Column("Verdicts", "count", brief=False),
    "missing": Column("Missing", "count", "verdicts without a value", brief=False),
    "consistency": Column("Consistent", "percent", "verdicts that stay when the order is swapped"),
    "consistency_low": Column("CI low", "percent", brief=False),
    "consistency_high": Column("CI high", "percent", brief=False),
    "to_first": Column("To first", "count", "flips to the response shown first", brief=False),
    "to_second": Column("To second", "count", "flips to the response shown second", brief=False),
    "length": Column("Length", "decimal", "log odds ratio per SD at equal quality"),
    "length_low": Column("CI low", "decimal", brief=False),
    "length_high": Column("CI high", "decimal", brief=False),
    "accuracy": Column("Agreement", "percent", "with people"),
    "balanced": Column("Balanced", "percent", "agreement with the longer response preferred half the time"),
    "kappa": Column("κ", "decimal", "Cohen's κ with people"),
    "kappa_low": Column("CI low", "decimal", brief=False),
    "kappa_high": Column("CI high", "decimal", brief=False),
    "self_preference": Column("Own family", "points", "preference for it beyond people's", brief=False),
    "stability": Column("Stable", "percent", "repeated verdicts that agree", brief=False),
}
_NAMED = {
    "position": "position",
    "length": "length",
    "self": "its own family",
}


_TEST_COLUMNS = (Column("Judge"), Column("Test"), Column("Result"), Column("Measured (95 % CI)"))


def judge_tests(section: Section) -> TableView:
    """Return a row per judge and test: what it showed, or that it could not be tested."""
    rows = [
        (name, test, result, measured)
        for name, part in section.summary["judges"].items()
        for test, result, measured in _tested(part)
    ]
    return TableView("What was tested", _TEST_COLUMNS, rows, len(rows), everywhere=True)


def _tested(part: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return every test of a judge with its result and what was measured."""
    rows, share = [], wording.percent
    order, again, own = part["position"], part["stability"], part["self_preference"]
    length = next((r for r in (part["style"] or {}).get("covariates", ()) if r["feature"] == "length"), None)
    kappa = (part["agreement"] or {}).get("kappa")
    beyond = "people" if own and own["people"] else "chance"
    for test, bias, found, measured in (
        ("position", "position", order, order and f"{_interval(order, 'consistency', share)} consistent"),
        (
            "length",
            "length",
            length,
            length and f"log odds ratio {_interval(length, 'coefficient', _decimal)}",
        ),
        ("own family", "self", own, own and f"{_interval(own, 'value', wording.points)} beyond {beyond}"),
        ("stability", "", again, again and f"{_interval(again, 'value', share)} agree"),
        ("agreement", "chance", kappa, kappa and f"κ {_interval(kappa, 'value', _decimal)}"),
    ):
        if not found:
            result, measured = "not tested", ""
        elif bias in part["biases"]:
            result = "at or below chance" if bias == "chance" else "biased"
        elif test == "agreement" and part.get("unclear"):
            result = "too few verdicts"
        else:
            result = "fine" if bias else "measured"
        rows.append((test, result, measured or ""))
    return rows


def _interval(part: Mapping[str, Any], value: str, write: Callable[[float], str]) -> str:
    return f"{write(part[value])} ({write(part['low'])} to {write(part['high'])})"


def _decimal(value: float) -> str:
    return f"{value:z.2f}"


@SECTION_VIEWS.register("judge")
def judge(card: Card, section: Section) -> SectionView:
    """Return the table of judges and the chart of what they follow."""
    del card
    judges = section.summary["judges"]
    lead = []
    for name, part in judges.items():
        properties = [_NAMED[bias] for bias in part["biases"] if bias in _NAMED]
        biases = [f"depends on {listed(properties)}"] if properties else []
        if "chance" in part["biases"]:
            below = part["agreement"]["kappa"]["high"] < 0
            biases.append(f"agrees with people {'less' if below else 'no more'} than by chance")
        nothing = "no bias found" if part.get("tested", True) else "nothing could be tested"
        sentence = f"{display_text(name, 60)}: {listed(biases) or nothing}"
        if part.get("unclear"):
            sentence += "; too few verdicts to tell whether it agrees with people"
        calibrated = part.get("calibrated")
        if calibrated:
            sentence += (
                f"; agreement of its scores with people {wording.percent(calibrated['score'])}, calibrated by length "
                f"{wording.percent(calibrated['calibrated'])}"
            )
        lead.append(f"{sentence}.")
    charts = []
    if any(part["style"] for part in judges.values()):
        charts.append(
            ChartView(
                "What verdicts follow",
                drawn("probes.judge", "reliance", judges),
                alt="Log odds ratio of quality, length, formatting and position for every judge.",
                caption="● log odds ratio with 95 % CI over prompts; 0: the verdict does not depend on it",
                name="reliance",
            )
        )
    frame = section["judges"]
    columns = {name: column for name, column in _COLUMNS.items() if name in frame.columns}
    tables = [TableView.of("Judges", "judges", frame, columns), judge_tests(section)]
    notes = []
    if "judge_rewards" in section.tables:
        notes.append(
            "Scores without their smooth part by length are in tables/judge_rewards.parquet (calibrated)."
        )
    return SectionView(lead=lead, charts=charts, tables=tables, notes=notes)
