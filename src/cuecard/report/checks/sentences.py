"""A check in words: its verdict, and what every rule says."""

from __future__ import annotations

from cuecard import wording
from cuecard.analysis import Unit
from cuecard.card.judging import Check, Ruling
from cuecard.card.policy import Limit
from cuecard.wording import display_text, listed

_SIGNS = {"<=": "at most", "<": "below", ">=": "at least", ">": "above", "==": "exactly"}


def headline(check: Check) -> str:
    """Return the verdict in one sentence."""
    name, policy = display_text(check.card.dataset.name, 80), display_text(check.policy.source, 120)
    failing = [ruling for ruling in check.rulings if ruling.fails and ruling.verdict == "fail"]
    undecided = check.of_verdict("undecided")
    total = wording.plural(len(check.rulings), "measure")
    accepted = sum(ruling.violated and ruling.verdict == "pass" for ruling in check.rulings)
    if failing:
        verb = "fails" if len(failing) == 1 else "fail"
        more = f", {len(undecided)} undecided" if undecided else ""
        return f"FAIL: {name} violates {policy}: {len(failing)} of {total} {verb}{more}."
    if check.verdict != "pass":
        words = "is" if len(undecided) == 1 else "are"
        met = "is not significantly worse" if accepted else f"violates no limit of {policy}"
        said = "FAIL (strict)" if check.verdict == "fail" else "UNDECIDED"
        return f"{said}: {name} {met}, but {len(undecided)} of {total} {words} undecided."
    warned = len(check.of_verdict("fail"))
    more = f" ({wording.plural(warned, 'warning')})" if warned else ""
    if accepted:
        was = "was" if accepted == 1 else "were"
        return f"PASS: {name} is not significantly worse; {accepted} of {total} {was} violated before{more}."
    return f"PASS: {name} satisfies {policy}, {total}{more}."


def measured(ruling: Ruling) -> str:
    """Return the value of a rule's measure with its interval: “+21.5 points (95 % CI +17.1 to +25.9)”."""
    measure = ruling.measure
    if measure.value is None:
        return wording.MISSING
    value = _in_unit(measure.value, measure.unit)
    if measure.low is None or measure.high is None or measure.low == measure.high:
        return value
    if ruling.findings or measure.unit == "count":
        return f"{value}, possibly {wording.count(measure.high)}"
    low, high = (wording.in_unit(end, measure.unit) for end in (measure.low, measure.high))
    return f"{value} (95 % CI {low} to {high})"


def limits(ruling: Ruling) -> str:
    """Return the limits of a rule in the unit of its measure: “at most +5.0 points”."""
    return listed([_limit(limit, ruling.measure.unit) for limit in ruling.rule.limits])


def sentence(ruling: Ruling) -> str:
    """Return what a rule says of its measure, with its reason and what would settle it."""
    measure = ruling.measure
    parts = [settling(ruling), _sentence(ruling.note)]
    if measure.value is not None:
        label = display_text(measure.label or measure.name, 100)
        parts.insert(0, f"{_capital(label)}: {measured(ruling)}, limit {limits(ruling)}.")
    if ruling.verdict != "pass":
        parts.append(_sentence(ruling.rule.reason))
    return " ".join(part for part in parts if part)


def severity(ruling: Ruling) -> str:
    """Return the severity of a rule that is not met, in brackets, unless it is an error."""
    plain = ruling.verdict == "pass" or ruling.rule.severity == "error"
    return "" if plain else f" ({ruling.rule.severity})"


def settling(ruling: Ruling) -> str:
    """Return how many examples would settle an undecided rule, or nothing."""
    if ruling.verdict != "undecided" or ruling.measure.value is None:
        return ""
    if ruling.needed is None:
        return "The value is at the limit: more examples may not settle it."
    now = f" ({wording.count(ruling.measure.n)} now)" if ruling.measure.n else ""
    return f"About {wording.count(_rounded(ruling.needed))} examples{now} would settle it."


def _sentence(text: str) -> str:
    shown = display_text(text, 500).strip()
    return f"{_capital(shown).removesuffix('.')}." if shown else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _rounded(number: int) -> int:
    """Return an estimated number with two digits that count: 26,416 is 26,000."""
    return round(number, 2 - len(str(number)))


def _limit(limit: Limit, unit: Unit) -> str:
    return f"{_SIGNS[limit.operator]} {_in_unit(limit.bound, unit)}"


def _in_unit(value: float, unit: Unit) -> str:
    written = wording.in_unit(value, unit)
    return f"{written} points" if unit == "points" else written
