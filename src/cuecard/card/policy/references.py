"""What an earlier state was: a baseline card, or the accepted violations of a ratchet file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cuecard.analysis import Measure
from cuecard.card.card import Card, FindingModel
from cuecard.card.changes import MeasuredChange, measured_change, shared_examples
from cuecard.errors import InputError
from cuecard.wording import listed


@dataclass(frozen=True, eq=False)
class Reference:
    """The measures and findings that a check compares with.

    A finding is a measure named by its id. `card` is there where changes can be paired example by example.
    """

    measures: Mapping[str, Measure]
    findings: Mapping[str, Measure]
    card: Card | None = None
    name: str = "the baseline"

    def measure_change(self, measure: Measure, card: Card) -> MeasuredChange | None:
        """Return how far a measure moved since, or None where it was not measured then."""
        before = self.measures.get(measure.name)
        if before is None:
            return None
        return measured_change(before, measure, (self.card, card) if self.card else None)

    def is_known(self, finding: FindingModel) -> bool:
        """Return whether a finding was there before and did not get significantly worse."""
        before = self.findings.get(finding.id)
        if before is None:
            return False
        change = measured_change(before, finding_measure(finding))
        return change is None or not change.worsened("higher")


def finding_measure(finding: FindingModel) -> Measure:
    """Return the number of a finding, above chance where there is a chance level, as a measure named by its id."""
    value, low, high = (
        None if number is None else number - (finding.chance or 0.0)
        for number in (finding.value, finding.low, finding.high)
    )
    return Measure(
        finding.id, value, low, high, n=finding.n, unit=finding.unit, worse="higher", label=finding.title
    )


def reference_of(baseline: Card, card: Card, name: str = "the baseline") -> Reference:
    """Return what a baseline card says, or raise if it is about other data."""
    for what in ("task", "labels"):
        old, new = getattr(baseline.dataset, what), getattr(card.dataset, what)
        if (sorted(old) if isinstance(old, list) else old) != (sorted(new) if isinstance(new, list) else new):
            old_words, new_words = (listed(x) if isinstance(x, list) else x for x in (old, new))
            raise InputError(
                f"{name} is a card of other data: its {what} {'is' if what == 'task' else 'are'} {old_words}, here "
                f"{new_words}. Name a card of an earlier version of this dataset as --baseline."
            )
    if shared_examples(baseline, card) == 0:
        raise InputError(
            f"{name} is a card of other data: it shares no example with {card.dataset.name}. Name a card of an earlier "
            "version of this dataset as --baseline."
        )
    return Reference(
        measures={m.name: m for m in baseline.all_measures()},
        findings={finding.id: finding_measure(finding) for finding in baseline.findings},
        card=baseline,
        name=name,
    )
