"""What is left for a fresh learner on examples that a plan never saw: outer folds, or a test split left as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from cuecard.analysis import Measure, Result, Skip
from cuecard.audits.partial_input.folds import make_folds
from cuecard.data import Instances
from cuecard.data.examples import Bools, Examples
from cuecard.remedies.plan.worksheet import Change
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation

#: Outer folds: a plan is made on all but one, and scored on that one; fewer where there are many examples.
FOLDS, FOLDS_OF_MANY, MANY = 5, 3, 20_000
_Z = 1.96


@dataclass(frozen=True, eq=False)
class Part:
    """Examples that a plan chooses from, its changes in their order, and others that it never sees."""

    learn: Instances
    held: Instances
    order: Sequence[Change]


@dataclass(frozen=True)
class Left:
    """The accuracy of a fresh learner on examples that the plan never saw, without and with the plan."""

    before: Measure
    after: Measure
    low: float
    high: float
    """The confidence interval of the difference after − before, over the same examples."""

    @property
    def helps(self) -> bool:
        """Whether the plan lowers the accuracy, or there was nothing above chance to lower."""
        return self.high < 0 or not above_chance(self.before)


def above_chance(measure: Measure) -> bool:
    """Return whether the interval of a measure lies above its chance level."""
    return measure.low is not None and measure.low > (measure.chance or 0.0)


@dataclass(frozen=True, eq=False)
class Unseen:
    """Fresh learners of the changed examples of every part, scored on what its plan never saw.

    `score` learns from the training split and scores the test split of a dataset; `change` returns a dataset with the
    first changes of a plan.
    """

    parts: Sequence[Part]
    score: Callable[[Instances], Result]
    change: Callable[[Instances, Sequence[Change]], Instances]
    _scored: dict[float, list[Result] | None] = field(default_factory=dict)

    def results(self, share: float) -> list[Result] | None:
        """Return the scores after this share of the examples changed; None where too few are left to learn from."""
        if share not in self._scored:
            try:
                self._scored[share] = [self._result(part, share) for part in self.parts]
            except Skip:
                self._scored[share] = None
        return self._scored[share]

    def _result(self, part: Part, share: float) -> Result:
        chosen = part.order[: round(share * part.learn.n_examples)]
        return self.score(
            _side_by_side(self.change(part.learn, chosen) if len(chosen) else part.learn, part.held)
        )

    def measure(self, name: str, share: float) -> Measure | None:
        """Return a measure over all parts after this share of the examples changed."""
        results = self.results(share)
        if results is None:
            return None
        found = [measure for result in results for measure in result.measures if measure.name == name]
        if len(found) < len(self.parts) or any(measure.value is None for measure in found):
            return None
        return pooled(found)

    def left(self, name: str, share: float) -> Left | None:
        """Return what is left of an accuracy after this share of the examples changed, compared with no change."""
        before, after = self.measure(name, 0.0), self.measure(name, share)
        if before is None or after is None or before.value is None or after.value is None:
            return None
        difference, margin = after.value - before.value, math.hypot(_margin(before), _margin(after))
        paired = self._paired_margin(after, share)
        margin = margin if paired is None else paired
        return Left(before, after, difference - margin, difference + margin)

    def _paired_margin(self, after: Measure, share: float) -> float | None:
        """Return the margin of a difference over the same examples, as much wider as that of the accuracy is."""
        old, new = self.results(0.0), self.results(share)
        column = after.solved
        if old is None or new is None or after.value is None:
            return None
        tables = [result.examples for result in (*old, *new)]
        if any(table is None or column not in table.columns for table in tables):
            return None
        keys = ["example_id", "split"]
        differences = pl.concat(
            _solved(a, column)
            .join(_solved(b, column), on=keys)
            .select(difference=pl.col(f"{column}_right") - pl.col(column))
            for a, b in zip(old, new, strict=True)
        )["difference"].to_numpy()
        n = len(differences)
        binomial = _Z * math.sqrt(max(after.value * (1 - after.value), 1e-6) / n)
        # A difference of zero in all of few examples does not show that there is none.
        spread = max(float(differences.std(ddof=1)) if n > 1 else 1.0, 1 / math.sqrt(n))
        return _Z * spread / math.sqrt(n) * max(1.0, _margin(after) / binomial)


def _solved(result: Result, column: str) -> pl.DataFrame:
    assert result.examples is not None
    return result.examples.filter(split="test").select("example_id", "split", pl.col(column).cast(pl.Float64))


def _margin(measure: Measure) -> float:
    if measure.low is None or measure.high is None:
        return 1.0
    return (measure.high - measure.low) / 2


def pooled(measures: Sequence[Measure]) -> Measure:
    """Return one measure of several folds: their mean, with an interval for models that share training examples.

    What is left of a leak goes one way in one fold's model and the other way in the next, so that folds may vary more
    than their examples do: Student's interval of their values is the narrowest that is given.

    >>> half = Measure("a.b", 0.5, low=0.4, high=0.6, chance=0.5, n=100)
    >>> both = pooled([half, half])
    >>> both.value, both.n, round(both.low, 3)
    (0.5, 200, 0.378)
    """
    if len(measures) == 1:
        return measures[0]
    from scipy.stats import t as student

    sizes = np.array([measure.n or 1 for measure in measures], dtype=np.float64)
    share = sizes / sizes.sum()
    value = float(share @ np.array([measure.value for measure in measures], dtype=np.float64))
    inflation = math.sqrt(cross_fit_inflation(len(measures)))
    between = np.array([measure.value for measure in measures], dtype=np.float64).std(ddof=1)
    least = float(student.ppf(0.975, len(measures) - 1) * between / math.sqrt(len(measures)))
    ends: dict[str, float | None] = {}
    for end, sign in (("low", -1), ("high", 1)):
        margins = [
            0.0 if m.value is None or (at := getattr(m, end)) is None else abs(at - m.value) for m in measures
        ]
        ends[end] = value + sign * max(least, inflation * float(np.linalg.norm(share * margins)))
    chances = [measure.chance for measure in measures if measure.chance is not None]
    chance = float(share @ chances) if len(chances) == len(measures) else None
    return replace(
        measures[0], value=value, chance=chance, n=int(sizes.sum()), low=ends["low"], high=ends["high"]
    )


def outer_parts(
    data: Instances, order: Callable[[Instances], Sequence[Change]], *, seed: int = 0
) -> list[Part]:
    """Return folds of all examples of a dataset; those that share or nearly share a text are in one fold."""
    whole = one_split(data)
    examples = Examples(whole)
    strata = np.zeros(len(examples), dtype=np.int64) if whole.grouped else examples.gold
    folds = make_folds(whole, strata, folds=FOLDS if len(examples) < MANY else FOLDS_OF_MANY, seed=seed)
    parts = []
    for fold in np.unique(folds.fold):
        learn, held = (of_examples(whole, mask) for mask in (folds.fold != fold, folds.fold == fold))
        parts.append(Part(learn, held, order(learn)))
    return parts


def one_split(data: Instances) -> Instances:
    """Return all examples as one training split, with their numbers for ids."""
    codes = pl.Series(data.example_codes.astype(str))
    return replace(data, table=data.table.with_columns(split=pl.lit("train"), example_id=codes))


def of_examples(data: Instances, which: Bools) -> Instances:
    """Return some examples as a dataset of their own."""
    return replace(data, table=data.table.filter(pl.Series(which[data.example_codes])))


def _side_by_side(learn: Instances, held: Instances) -> Instances:
    """Return one dataset that learns from some examples and is scored on others."""
    parts = [part.table.with_columns(split=pl.lit(name)) for part, name in ((learn, "train"), (held, "test"))]
    return replace(learn, table=pl.concat(parts))
