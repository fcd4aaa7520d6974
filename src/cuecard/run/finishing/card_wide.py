"""One q-value over all sections of a card: what is not significant there is graded no higher than low."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cuecard.analysis import Finding, Result
from cuecard.stats.multiple_testing import q_values_of_selected

#: A finding above this card-wide q-value is graded no higher than low.
ALPHA = 0.05


def judged_over_card(results: Mapping[str, Result]) -> list[Finding]:
    """Return the findings of all sections, those that rest on a test with their q-value over the whole card.

    A card asks many questions at once. Each section holds the false discovery rate over its own tests; over the
    sections it is held by selecting those with anything to tell first (`q_values_of_selected`).
    """
    smallest = {name: one.smallest_q for name, one in results.items() if one.smallest_q is not None}
    own = {
        name: [finding.q_value for finding in results[name].findings if finding.q_value is not None]
        for name in smallest
    }
    judged = {
        name: iter(values.tolist()) for name, values in q_values_of_selected(own, smallest, ALPHA).items()
    }
    return [
        _graded(finding, next(judged[name])) if name in smallest and finding.q_value is not None else finding
        for name, one in results.items()
        for finding in one.findings
    ]


def _graded(finding: Finding, card_q: float) -> Finding:
    finding = replace(finding, card_q=card_q)
    if card_q <= ALPHA or finding.severity not in ("high", "medium"):
        return finding
    text = f"{finding.text} Allowing for all sections of this card it is not significant (q = {card_q:.2g})."
    return replace(finding, severity="low", text=text)
