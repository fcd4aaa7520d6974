"""What blind predictions of open answers score, and whether that is more than always giving the commonest answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

import numpy as np

from cuecard.analysis import Row
from cuecard.audits.open_answers.predictors import Plan
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.intervals import accuracy_log_p
from cuecard.stats.models.paired import deflated_log10_p, design_effects, paired_comparison
from cuecard.stats.multiple_testing import holm
from cuecard.stats.scores.cross_fit_intervals import (
    cross_fit_inflation,
    mean_interval,
    share_interval,
)

#: What a rule learns from: answers alone, the question, other questions of a template, or an extra column.
Kind = Literal["prior", "question", "template", "column"]
_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class Line:
    """What one rule scores on the questions that are scored.

    `accuracy` is its exact match. `chance` is that of always giving the commonest answer; of that rule itself, one in
    the number of different answers. `difference` is the accuracy above it, tested by McNemar's exact test.
    """

    rule: str
    kind: Kind
    says: str
    n: int
    accuracy: float
    low: float
    high: float
    f1: float
    chance: float
    difference: float
    difference_low: float
    difference_high: float
    log10_p: float
    p_value: float = 1.0
    clear: bool = False

    @property
    def row(self) -> Row:
        """The line as a row of a table."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Judge:
    """Scores predictions for the questions of a plan beside those of its prior."""

    plan: Plan
    prior: Ints

    @property
    def inflation(self) -> float:
        """How much more a mean varies where questions are both learned from and scored."""
        return cross_fit_inflation(len(self.plan.parts)) if self.plan.cross_fitted else 1.0

    def hits(self, predicted: Ints) -> Bools:
        """Return which of the scored questions are predicted exactly."""
        return self.plan.data.correct(predicted)[self.plan.scored]

    def line(self, rule: str, kind: Kind, says: str, predicted: Ints, among: Bools | None = None) -> Line:
        """Return what predictions score; `among` are the scored questions that count."""
        chosen = self.plan.scored if among is None else self.plan.scored[among]
        data = self.plan.data
        right, prior = data.correct(predicted)[chosen], data.correct(self.prior)[chosen]
        kinds = self.plan.shared(chosen)
        f1 = float(data.f1(data.forms.gather(np.maximum(predicted, 0)))[chosen].mean())
        size = len(right) / effect_on_mean(right.astype(np.float64), kinds) / self.inflation
        low, high = share_interval(float(right.mean()), size)
        if kind == "prior":
            distinct = max(len(np.unique(data.answers[chosen])), 1)
            chance = 1 / distinct
            log10_p = float(accuracy_log_p(int(right.sum()), len(right), chance, "greater")) / _LN10
            if (
                self.plan.cross_fitted
            ):  # the commonest of these very questions was chosen, from this many answers
                log10_p = min(0.0, log10_p + float(np.log10(distinct)))
            effect = effect_on_mean(right.astype(np.float64), kinds)
            difference = float(right.mean()) - chance
            ends = (low - chance, high - chance)
        else:
            compared = paired_comparison(right, prior)
            gained = right.astype(np.float64) - prior
            effect = effect_on_mean(gained, kinds)
            chance, difference, log10_p = float(prior.mean()), compared.difference, compared.log10_p
            ends = mean_interval(gained, inflation=self.inflation * effect)[1:]
        return Line(
            rule, kind, says, len(right), float(right.mean()), low, high, f1, chance, difference,
            max(ends[0], -1.0), min(ends[1], 1.0), float(deflated_log10_p(log10_p, effect)),
        )  # fmt: skip


def effect_on_mean(values: Floats, kinds: Sequence[Ints]) -> float:
    """Return how many times more a mean varies than that of independent questions, where those of a unit are alike."""
    coded = [np.unique(codes, return_inverse=True)[1].astype(np.int64) for codes in kinds]
    coded = [codes for codes in coded if 1 < int(codes.max(initial=-1)) + 1 < len(codes)]
    if not coded:
        return 1.0
    return float(design_effects(values - values.mean(), np.ones((len(values), 1)), coded)[0])


def judged(lines: list[Line], alpha: float) -> list[Line]:
    """Return the lines with p-values corrected for all of them, and which are clearly above chance."""
    p = holm([10.0**line.log10_p for line in lines])
    return [
        replace(
            line,
            p_value=float(one),
            clear=bool(one <= alpha and line.difference > 0 and line.difference_low > 0),
        )
        for line, one in zip(lines, p, strict=True)
    ]
