"""Is a judge consistent and fair, and does it agree with people? Asked of its verdicts or scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, Unit, interval
from cuecard.data import Instances, Task
from cuecard.probes.judge import biases
from cuecard.probes.judge.biases import FEWEST
from cuecard.probes.judge.verdicts import Verdicts
from cuecard.probes.judge.view import judge_view
from cuecard.probes.predictions import Probe
from cuecard.stats import q_values, state_probability
from cuecard.wording import percent, plural

NAME = "judge"
CONSISTENCY = MeasureKind(
    "{model}.consistency", "verdicts of {model} that stay in the other order", "share", "lower"
)
FIRST = MeasureKind("{model}.flips_to_first", "flips of {model} to the response shown first", "share")
LENGTH = MeasureKind(
    "{model}.length", "log odds ratio of length for {model} at equal quality, per SD", "score"
)
FORMATTING = MeasureKind("{model}.formatting", "log odds ratio of formatting for {model}, per SD", "score")
GAP = MeasureKind(
    "{model}.length_gap", "accuracy of {model} where the longer minus where the shorter is better", "points"
)
ACCURACY = MeasureKind("{model}.accuracy", "agreement of {model} with people", "share", "lower")
BALANCED = MeasureKind(
    "{model}.balanced_accuracy", "length-balanced agreement of {model} with people", "share", "lower"
)
KAPPA = MeasureKind("{model}.kappa", "Cohen's κ of {model} and people", "score", "lower")
SELF = MeasureKind(
    "{model}.self_preference", "preference of {model} for its own family, beyond people's", "points"
)
STABILITY = MeasureKind("{model}.stability", "repeated verdicts of {model} that agree", "share", "lower")
KINDS = (CONSISTENCY, FIRST, LENGTH, FORMATTING, GAP, ACCURACY, BALANCED, KAPPA, SELF, STABILITY)


def judge_measures(summary: Row) -> list[Measure]:
    """Return the measures of every judge of a summary."""
    measures = []
    for model, part in summary["judges"].items():
        order, style, people = part.get("position"), part.get("style"), part.get("agreement")
        if order:
            consistency = interval(order, "consistency")
            measures.append(CONSISTENCY.of(NAME, **consistency, n=order["n"], model=model))
            first, flips = interval(order, "first_share", "first_"), order["to_first"] + order["to_second"]
            measures.append(FIRST.of(NAME, **first, chance=0.5, n=flips, model=model))
        for row in style["covariates"] if style else ():
            if kind := {"length": LENGTH, "formatting": FORMATTING}.get(row["feature"]):
                odds = interval(row, "coefficient")
                measures.append(kind.of(NAME, **odds, chance=0.0, n=style["n"], model=model))
        for kind, key in ((ACCURACY, "accuracy"), (BALANCED, "balanced"), (KAPPA, "kappa"), (GAP, "gap")):
            if people and (value := people.get(key)):
                chance = 0.0 if kind in (KAPPA, GAP) else 0.5
                measures.append(kind.of(NAME, **interval(value), chance=chance, n=people["n"], model=model))
        if own := part.get("self_preference"):
            measures.append(SELF.of(NAME, **interval(own), chance=0.0, n=own["n"], model=model))
        if again := part.get("stability"):
            measures.append(STABILITY.of(NAME, **interval(again), n=again["n"], model=model))
    return measures


HIGH, MEDIUM = 0.15, 0.05


def judge_findings(summary: Row) -> list[Finding]:
    """Return the findings of every judge; one that follows nothing but quality has one finding that says so."""
    findings: list[Finding] = []
    for model, part in summary["judges"].items():
        own = [_FINDINGS[bias](model, part) for bias in part["biases"]]
        findings += own or [_fair(model, part)]
        findings += [_unclear(model, part)] if part.get("unclear") else []
    return findings


def _severity(effect: float) -> Severity:
    return "high" if effect >= HIGH else "medium" if effect >= MEDIUM else "low"


def _position(model: str, part: Row) -> Finding:
    order = part["position"]
    side, flips = (
        ("first", order["to_first"])
        if order["to_first"] >= order["to_second"]
        else ("second", order["to_second"])
    )
    text = (
        f"{model} keeps {percent(order['consistency'])} of {plural(order['n'], 'verdict')} when the order is swapped "
        f"(95 % CI {percent(order['low'])} to {percent(order['high'])}). Of the flips, {flips:,} go to the response "
        f"shown {side} and {order['to_first'] + order['to_second'] - flips:,} to the other (exact "
        f"{state_probability('p', order['p_value'])})."
    )
    net = abs(order["to_first"] - order["to_second"]) / order["n"]
    title, kept = f"{model} prefers the response shown {side}", interval(order, "consistency")
    key = f"{model}/position"
    return Finding(NAME, _severity(net), title, text, **kept, n=order["n"], key=key, role="flaw")


def _length(model: str, part: Row) -> Finding:
    style, row = part["style"], _of_length(part)
    assert row is not None
    more = "longer" if row["coefficient"] > 0 else "shorter"
    held = "at equal quality" if style["given_quality"] else "without quality labels"
    text = (
        f"{model} prefers the {more} response {held}: log odds ratio {row['coefficient']:+z.2f} per standard deviation "
        f"of the difference in log words (95 % CI {row['low']:+z.2f} to {row['high']:+z.2f}; "
        f"{state_probability('p', row['p_value'])}) on {plural(style['n'], 'verdict')}."
    )
    people = part.get("agreement") or {}
    if people.get("gap"):
        text += (
            f" It agrees with people in {percent(people['longer']['value'])} where they prefer the longer response and "
            f"in {percent(people['shorter']['value'])} where they prefer the shorter; balanced over both, "
            f"{percent(people['balanced']['value'])} (as it stands {percent(people['accuracy']['value'])})."
        )
    careful = min(abs(row["low"]), abs(row["high"])) / 4  # change of a probability near one half
    odds = interval(row, "coefficient") | {"n": style["n"]}
    title = f"{model} prefers {more} responses"
    return _flaw(f"{model}/length", _severity(careful), title, text, odds, unit="score")


def _self(model: str, part: Row) -> Finding:
    own = part["self_preference"]
    reference = percent(own["reference"])
    than = f"people in {reference}" if own["people"] else f"chance is {reference}"
    text = (
        f"Among {plural(own['n'], 'pair')} of about the same length with one response of the family {own['family']!r}, "
        f"{model} prefers that one in {percent(own['own'])}, {than} (difference "
        f"{own['value'] * 100:+z.1f} points, 95 % CI {own['low'] * 100:+z.1f} to {own['high'] * 100:+z.1f})."
    )
    title = f"{model} {'prefers' if own['value'] > 0 else 'disfavours'} responses of its own family"
    severity = _severity(min(abs(own["low"]), abs(own["high"])))
    return _flaw(f"{model}/self", severity, title, text, own, unit="points")


def _chance(model: str, part: Row) -> Finding:
    people = part["agreement"]
    kappa = people["kappa"]
    below = kappa["high"] < 0
    text = (
        f"{model} agrees with people in {percent(people['accuracy']['value'])} of {plural(people['n'], 'verdict')}; "
        f"κ = {kappa['value']:z.2f} (95 % CI {kappa['low']:z.2f} to {kappa['high']:z.2f}) "
        + ("is below chance: check the sign of scores." if below else "does not differ from chance.")
    )
    title = f"{model} agrees with people {'less' if below else 'no more'} than by chance"
    return _flaw(f"{model}/chance", "high", title, text, {**kappa, "n": people["n"]}, unit="score")


def _unclear(model: str, part: Row) -> Finding:
    people = part["agreement"]
    kappa, n = people["kappa"], plural(people["n"], "verdict")
    text = (
        f"{model} agrees with people in {percent(people['accuracy']['value'])} of {n}; κ = {kappa['value']:z.2f} (95 % "
        f"CI {kappa['low']:z.2f} to {kappa['high']:z.2f}). With so few verdicts it cannot be told whether it agrees "
        "with people more than by chance: give more verdicts that people judged, too."
    )
    title = f"Too few verdicts to tell whether {model} agrees with people"
    return _flaw(f"{model}/agreement", "info", title, text, {**kappa, "n": people["n"]}, unit="score")


def _flaw(key: str, severity: Severity, title: str, text: str, measured: Row, *, unit: Unit) -> Finding:
    """Return the finding about a number that is 0 for a judge without this bias."""
    ends = interval(measured) | {"chance": 0.0, "n": measured["n"]}
    return Finding(NAME, severity, title, text, **ends, key=key, unit=unit, role="flaw")


def _of_length(part: Row) -> Row | None:
    """Return what the verdicts of a judge owe to length, where that was tested."""
    covariates = (part["style"] or {}).get("covariates", ())
    return next((row for row in covariates if row["feature"] == "length"), None)


_FINDINGS = {"position": _position, "length": _length, "self": _self, "chance": _chance}


def _fair(model: str, part: Row) -> Finding:
    parts = []
    if part.get("position"):
        parts.append(f"position ({percent(part['position']['consistency'])} consistent)")
    if part.get("style"):
        parts.append("length and formatting")
    if part.get("self_preference"):
        parts.append("its own family")
    people = part.get("agreement")
    title = f"No bias of {model} found in its comparisons" if parts else f"Biases of {model} were not tested"
    text = (
        f"No dependence on what was tested for {model}: {', '.join(parts)}."
        if parts
        else f"No bias of {model} could be tested. Position needs at least {FEWEST} comparisons judged in both orders; "
        f"length and formatting, {FEWEST} with the texts of both responses; self-preference, {FEWEST} with the names "
        f"of the models; agreement, {FEWEST} that people judged, too. Found: "
        f"{plural(part['comparisons'], 'comparison')}."
    )
    if people and not part.get("unclear"):
        kappa = people["kappa"]
        text += (
            f" It agrees with people in {percent(people['accuracy']['value'])} (κ = {kappa['value']:z.2f}, 95 % CI "
            f"{kappa['low']:z.2f} to {kappa['high']:z.2f})."
        )
    return Finding(NAME, "info", title, text, key=f"{model}/fair", role="flaw")


#: What is tested of every judge, where there are enough comparisons for it.
TESTS = ("position", "style", "self_preference", "stability", "agreement")


@dataclass(frozen=True)
class JudgeTest(Probe):
    """Test the verdicts of judges, or the scores of reward models, for what they follow besides quality.

    Position (both orders, exact), length and formatting at equal quality, the judge's own family among responses of
    about the same length, stability of repeated verdicts, and agreement with people (κ, accuracy, accuracy balanced by
    length). Scores are also written without their smooth part by length.

    Args:
        alpha: a bias is named if its q-value over the tests of a judge is at most this.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Judges"
    view = staticmethod(judge_view)
    tasks: ClassVar[frozenset[Task]] = frozenset({"preference"})
    needs: ClassVar[frozenset[Need]] = frozenset({"judge"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS

    alpha: float = 0.05

    def run(self, data: Instances, judge: Sequence[Verdicts]) -> Result:
        """Return what every judge follows, with the rewards of those that gave scores."""
        del data
        judges, rewards = {}, []
        smallest = 1.0
        for verdicts in judge:
            part, calibrated = self._judged(verdicts)
            smallest = min([smallest, *part["q_values"].values()])
            judges[verdicts.name] = part | {"tested": tested(part)}
            if calibrated is not None:
                rewards.append(calibrated.drop("side").with_columns(judge=pl.lit(verdicts.name)))
        summary = {"judges": judges, "alpha": self.alpha, "fewest": FEWEST}
        tables = {"judges": _table(judges)}
        if rewards:
            tables["judge_rewards"] = pl.concat(rewards)
        return Result(
            summary, tables, judge_findings(summary), None, judge_measures(summary), smallest_q=smallest
        )

    def _judged(self, verdicts: Verdicts) -> tuple[dict[str, Any], pl.DataFrame | None]:
        table = verdicts.table
        part: dict[str, Any] = {
            "verdicts": table.height,
            "missing": verdicts.missing,
            "comparisons": table["item"].n_unique(),
            "position": biases.position(table),
            "style": biases.style_reliance(table),
            "self_preference": biases.self_preference(table, verdicts.name),
            "stability": biases.stability(table),
            "agreement": biases.agreement(table),
        }
        rewards = biases.calibrated_rewards(table)
        if rewards is not None:
            part["calibrated"] = biases.calibrated_accuracy(table, rewards)
        p_values = {}
        if part["position"]:
            p_values["position"] = part["position"]["p_value"]
        if length := _of_length(part):
            p_values["length"] = length["p_value"]
        if part["self_preference"]:
            p_values["self"] = part["self_preference"]["p_value"]
        adjusted = q_values(np.log(np.maximum(list(p_values.values()), 1e-300))) if p_values else np.empty(0)
        part["q_values"] = dict(zip(p_values, map(float, adjusted), strict=True))
        part["biases"] = [name for name, q in part["q_values"].items() if q <= self.alpha]
        people = part["agreement"]
        if people and not people["kappa"]["low"] > 0:
            # An interval that holds both no agreement and some is wide because there are few verdicts.
            if people["kappa"]["high"] < biases.SOME_AGREEMENT:
                part["biases"] = ["chance", *part["biases"]]
            else:
                part["unclear"] = ["agreement"]
        return part, rewards


def tested(part: Row) -> bool:
    """Return whether there were enough comparisons for any test of a judge."""
    return any(part[name] for name in TESTS)


def _table(judges: Mapping[str, Row]) -> pl.DataFrame:
    """Return one row per judge with its main numbers."""
    rows = []
    for judge, part in judges.items():
        order, people, length = part["position"] or {}, part["agreement"] or {}, _of_length(part) or {}
        values = {"consistency": order.get("consistency"), "length": length.get("coefficient")}
        values |= {name: (people.get(name) or {}).get("value") for name in ("accuracy", "balanced", "kappa")}
        values |= {name: (part[name] or {}).get("value") for name in ("self_preference", "stability")}
        for name, numbers in (
            ("consistency", order),
            ("length", length),
            ("kappa", people.get("kappa") or {}),
        ):
            values |= {f"{name}_{end}": numbers.get(end) for end in ("low", "high")}
        rows.append(
            {
                "judge": judge,
                "verdicts": part["verdicts"],
                "missing": part["missing"],
                "named": ", ".join(part["biases"]) or ("fair" if tested(part) else "not tested"),
                "to_first": order.get("to_first"),
                "to_second": order.get("to_second"),
                **values,
            }
        )
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


_COLUMNS = {
    "judge": pl.String,
    **dict.fromkeys(("verdicts", "missing"), pl.Int64),
    "named": pl.String,
    **dict.fromkeys(("consistency", "consistency_low", "consistency_high"), pl.Float64),
    **dict.fromkeys(("to_first", "to_second"), pl.Int64),
    **dict.fromkeys(("length", "length_low", "length_high", "accuracy", "balanced"), pl.Float64),
    **dict.fromkeys(("kappa", "kappa_low", "kappa_high", "self_preference", "stability"), pl.Float64),
}
