"""The sentences about a judge: what it follows besides quality, and whether it agrees with people at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Finding, Severity, Unit
from cuecard.probes.judge.biases import FEWEST
from cuecard.stats import state_probability
from cuecard.wording import percent, plural

HIGH, MEDIUM = 0.15, 0.05


def judge_findings(summary: Mapping[str, Any]) -> list[Finding]:
    """Return the findings of every judge; one that follows nothing but quality has one finding that says so."""
    findings: list[Finding] = []
    for model, part in summary["judges"].items():
        own = [_FINDINGS[bias](model, part) for bias in part["biases"]]
        findings += own or [_fair(model, part)]
        findings += [_unclear(model, part)] if part.get("unclear") else []
    return findings


def _severity(effect: float) -> Severity:
    return "high" if effect >= HIGH else "medium" if effect >= MEDIUM else "low"


def _position(model: str, part: Mapping[str, Any]) -> Finding:
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
    return Finding(
        "judge",
        _severity(net),
        f"{model} prefers the response shown {side}",
        text,
        order["consistency"],
        order["low"],
        order["high"],
        n=order["n"],
        key=f"{model}/position",
        role="flaw",
    )


def _length(model: str, part: Mapping[str, Any]) -> Finding:
    style = part["style"]
    row = next(r for r in style["covariates"] if r["feature"] == "length")
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
    measured = {"value": row["coefficient"], "low": row["low"], "high": row["high"], "n": style["n"]}
    title = f"{model} prefers {more} responses"
    return _flaw(f"{model}/length", _severity(careful), title, text, measured, unit="score")


def _self(model: str, part: Mapping[str, Any]) -> Finding:
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


def _chance(model: str, part: Mapping[str, Any]) -> Finding:
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


def _unclear(model: str, part: Mapping[str, Any]) -> Finding:
    people = part["agreement"]
    kappa, n = people["kappa"], plural(people["n"], "verdict")
    text = (
        f"{model} agrees with people in {percent(people['accuracy']['value'])} of {n}; κ = {kappa['value']:z.2f} (95 % "
        f"CI {kappa['low']:z.2f} to {kappa['high']:z.2f}). With so few verdicts it cannot be told whether it agrees "
        "with people more than by chance: give more verdicts that people judged, too."
    )
    title = f"Too few verdicts to tell whether {model} agrees with people"
    return _flaw(f"{model}/agreement", "info", title, text, {**kappa, "n": people["n"]}, unit="score")


def _flaw(
    key: str, severity: Severity, title: str, text: str, measured: Mapping[str, Any], *, unit: Unit
) -> Finding:
    """Return the finding about a number that is 0 for a judge without this bias."""
    value, low, high, n = (measured[name] for name in ("value", "low", "high", "n"))
    return Finding("judge", severity, title, text, value, low, high, 0.0, n, key=key, unit=unit, role="flaw")


_FINDINGS = {"position": _position, "length": _length, "self": _self, "chance": _chance}


def _fair(model: str, part: Mapping[str, Any]) -> Finding:
    parts = []
    if part.get("position"):
        parts.append(f"position ({percent(part['position']['consistency'])} consistent)")
    if part.get("style"):
        parts.append("length and formatting")
    if part.get("self_preference"):
        parts.append("its own family")
    people = part.get("agreement")
    title = f"No bias of {model} found" if parts else f"Biases of {model} were not tested"
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
    return Finding("judge", "info", title, text, key=f"{model}/fair", role="flaw")
