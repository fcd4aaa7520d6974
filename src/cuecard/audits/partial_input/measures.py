"""The measures of partial input: accuracy, AUC and bits of every input that should not be enough."""

from __future__ import annotations

from collections.abc import Sequence

from cuecard.analysis import Measure, MeasureKind
from cuecard.audits.partial_input.baselines import TESTED_KINDS, Baseline

SECTION = "partial_input"
ACCURACY = MeasureKind("{input}.accuracy", "{input} accuracy", unit="share", worse="higher")
TURNED = MeasureKind(
    "{input}.turned_accuracy", "{input} accuracy, turned round", unit="share", worse="higher"
)
AUC = MeasureKind("{input}.auc", "{input} AUC", unit="score", worse="higher")
BITS = MeasureKind("{input}.bits", "{input} information", unit="bits", worse="higher")
#: The full input and relations of both texts may well succeed.
FULL_ACCURACY = MeasureKind("{input}.accuracy", "{input} accuracy", unit="share")

KINDS = (ACCURACY, TURNED, AUC, BITS)


def measures_of(baselines: Sequence[Baseline]) -> list[Measure]:
    """Return the measures of every line of the battery."""
    measures = []
    for b in baselines:
        accuracy = ACCURACY if b.kind in TESTED_KINDS else FULL_ACCURACY
        measures.append(_measure(accuracy, b, b.accuracy, b.low, b.high, b.chance))
        if b.kind in TESTED_KINDS:
            others = (
                _measure(TURNED, b, b.turned, b.turned_low, b.turned_high, b.chance),
                _measure(AUC, b, b.auc, b.auc_low, b.auc_high, 0.5),
                _measure(BITS, b, b.information, b.information_low, b.information_high, 0.0),
            )
            measures += [measure for measure in others if measure.value is not None]
    return measures


def _measure(
    kind: MeasureKind, b: Baseline, value: float | None, low: float | None, high: float | None, chance: float
) -> Measure:
    return kind.of(SECTION, value, low=low, high=high, chance=chance, n=b.n, input=b.name)
