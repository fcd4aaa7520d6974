"""What an audit says under weights that were made from labels that say nothing: the weights are made again each time.

Weights that balance their own rows have seen every label. What predicts a label in one fold then predicts another in
the rest, so a cross-fitted guess falls below chance where there is nothing to find; weights carried over from other
rows tilt those by the chance imbalance they were fitted to, which is no better. So the reference is not chance: labels
are shuffled, the weights made again from them, and the same audit repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cuecard.analysis import Measure
from cuecard.data import Instances
from cuecard.errors import CueCardError
from cuecard.stats.arrays import Floats
from cuecard.stats.units import label_orders

#: Makes the weights of the examples of a train split from its labels.
Remake = Callable[[Instances], Floats]
#: An audit under weights of examples: its measures.
Repeat = Callable[[Instances, Floats], Sequence[Measure]]

#: Times that labels are shuffled by default; Student's distribution allows for so few.
DRAWS = 10


@dataclass(frozen=True)
class Reference:
    """How far above chance a measure is when labels say nothing and the weights were made from them."""

    mean: float
    sd: float
    draws: int

    def p_value(self, above: float) -> float:
        """Two-sided p-value of a measure that is so far above chance, as one more draw of the same distribution.

        >>> round(Reference(-0.1, 0.02, 10).p_value(-0.11), 2), Reference(-0.1, 0.02, 10).p_value(0.1) < 1e-4
        (0.64, True)
        """
        from scipy.stats import t as student

        if not self.sd > 0:
            return 1.0 if math.isclose(above, self.mean, abs_tol=1e-12) else 0.0
        z = (above - self.mean) / (self.sd * math.sqrt(1 + 1 / self.draws))
        return float(2 * student.sf(abs(z), self.draws - 1))


def above_chance(measure: Measure) -> float | None:
    """Return how far above chance a shortcut's share is; None for any other measure, which has no such reference."""
    if measure.unit != "share" or measure.worse != "higher":
        return None
    return None if measure.value is None or measure.chance is None else measure.value - measure.chance


def references(
    train: Instances, remake: Remake, repeat: Repeat, *, draws: int = DRAWS, seed: int = 0
) -> dict[str, Reference]:
    """Return the reference of every measure with a chance level, by name.

    Args:
        train: the rows that the weights were made from.
        remake: makes the weights again, with everything that was chosen by looking at labels.
        repeat: the audit under such weights.
        draws: how often.
        seed: of the shuffles.
    """
    gains: dict[str, list[float]] = {}
    for shuffled in shuffled_labels(train, draws, seed=seed):
        try:
            weights = remake(shuffled)
        except CueCardError:  # nothing to balance is left: equal weights
            weights = np.ones(train.n_examples)
        for measure in repeat(shuffled, weights):
            above = above_chance(measure)
            if above is not None:
                gains.setdefault(measure.name, []).append(above)
    return {
        name: Reference(float(np.mean(values)), float(np.std(values, ddof=1)), len(values))
        for name, values in gains.items()
        if len(values) > 1
    }


def shuffled_labels(data: Instances, draws: int, *, seed: int = 0) -> Iterator[Instances]:
    """Yield the data with shuffled labels: within examples that have several rows, copies of a text alike."""
    rng = np.random.default_rng(seed)
    groups = data.example_codes if data.grouped else None
    units = data.units("choice" if data.grouped else "hypothesis")
    for order in label_orders(len(data), draws, rng, groups=groups, units=units):
        yield data.relabelled(data.label_codes[order])


def p_values(
    measures: Mapping[str, Measure], expected: Mapping[str, Reference]
) -> dict[str, tuple[float, float]]:
    """Return for every measure with a reference the value that shuffled labels lead to, and its p-value."""
    tested = {}
    for name, reference in expected.items():
        measure = measures.get(name)
        above = None if measure is None else above_chance(measure)
        if measure is not None and measure.chance is not None and above is not None:
            tested[name] = measure.chance + reference.mean, reference.p_value(above)
    return tested
