"""A first policy for a dataset: what its card satisfies today, with today's numbers beside every rule."""

from __future__ import annotations

import math

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.changes import as_sampled
from cuecard.card.policy.finding_counts import ALL_SECTIONS, COUNTED, finding_counts
from cuecard.card.policy.rules import Policy
from cuecard.wording import percent, points

OPENING = """# The policy of {name}. `cuecard check DATA` fails if the whole 95 % confidence interval of a measure
# violates its rule. The limits are what the data satisfies today; those of numbers that vary from sample to sample,
# such as the number of cues, are the upper ends of their intervals.
# Shares and points are fractions: 0.05 is 5 % or 5 points. Wildcards work: "partial_input.*.excess" = "<= 0.10".
# A rule can be {{ limit = "<= 0.05", severity = "warning", reason = "why" }}.
# Every finding has an id (`cuecard audit DATA --json`); to accept one until a day:
#   [[allow]]
#   finding = "cues/sleeping/contradiction"
#   reason = "a description of the picture"
#   expires = 2027-01-31

task = "{task}"

[rules]
"""


def starter_policy(card: Card) -> str:
    """Return a commented policy that the card satisfies."""
    lines = [OPENING.format(name=card.dataset.name.replace("\n", " "), task=card.dataset.task)]
    lines.append("# Findings of all sections, at least so severe.")
    counts = finding_counts(card, Policy(()), ())
    for severity in COUNTED[:2]:
        count = counts[f"{ALL_SECTIONS}.{severity}"]
        maybe = f", possibly {count.possibly}" if count.possibly > count.surely else ""
        lines.append(f'"{count.measure.name}" = "<= {count.possibly}"  # today {count.surely}{maybe}')
    for section in card.sections.values():
        if section.status == "done" and (rules := [_rule(m) for m in section.measures if _is_gated(m)]):
            lines += ["", f"# {section.title}", *rules]
        elif section.status != "done":
            lines += ["", f"# {section.title}: {section.status} ({' '.join(section.reason.split())})"]
    return "\n".join(lines) + "\n"


def _is_gated(measure: Measure) -> bool:
    """Return whether a first policy has a rule for a measure: one number per shortcut, and what is counted once."""
    if measure.worse != "higher" or measure.value is None:
        return False
    if measure.unit == "points":
        return measure.high is not None
    whole = measure.name.count(".") == 1
    return whole and measure.unit in ("count", "share") and measure.chance is None


def _upper_end(measure: Measure) -> float:
    """Return what the measure may be in another sample; a property of the data is what it is, and 0 stays 0."""
    assert measure.value is not None
    if measure.high is None and (measure.section == "overview" or not measure.value):
        return measure.value
    end = as_sampled(measure).high
    return measure.value if end is None else end


def _rule(measure: Measure) -> str:
    assert measure.value is not None
    high = _upper_end(measure)
    if measure.unit == "count":
        return f'"{measure.name}" = "<= {math.ceil(high)}"  # today {measure.value:g}'
    limit = max(0.0, math.ceil(round(100 * high, 6)) / 100)
    write = points if measure.unit == "points" else percent
    interval = ""
    if measure.low is not None and measure.high is not None:
        interval = f", 95 % CI {write(measure.low)} to {write(measure.high)}"
    today = f"{write(measure.value)}{' points' if measure.unit == 'points' else ''}{interval}"
    return f'"{measure.name}" = "<= {limit:g}"  # today {today}'.replace("\N{NO-BREAK SPACE}", " ")
