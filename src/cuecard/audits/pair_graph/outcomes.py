"""What forests on graph features gave: credits of the examples, and a test of their log score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from cuecard.analysis import Summary
from cuecard.audits.pair_graph.cells import DOUBT, Cells, ScoredChoices
from cuecard.audits.pair_graph.scores import ABLATIONS, Score, Trial
from cuecard.data.units import UnitScope
from cuecard.features.pair_graph import LEAKAGE_FEATURES
from cuecard.stats.arrays import Array, Floats, Ints
from cuecard.stats.counted_forest import Points
from cuecard.stats.scores.auc import (
    Auc,
    choice_auc_in_parts,
    counted_label_auc,
    counted_score_tests,
    label_auc,
)
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation, excess_interval, share_interval
from cuecard.stats.scores.score_test import ScoreTest, choice_score_test_in_parts, score_test

#: Copies of either sentence are one observation.
SCOPES: tuple[UnitScope, ...] = ("hypothesis", "premise")


@dataclass(frozen=True, eq=False)
class ForestOutcome:
    """The credits of the scored examples, whether the probabilities know the label, and how well they rank it.

    Without a test split the test takes forests that learned from earlier folds only: what chance has put into one
    fold, the forests of the others have learned, so that hits of a cross-fit vary more than independent ones.
    """

    credits: Array
    test: ScoreTest
    auc: Auc

    def score(self, trial: Trial) -> Score:
        """Return the accuracy with its interval, and the two-sided p-value of the log score."""
        score = trial.score(self.credits)
        if trial.folds > 1:
            low, high = share_interval(score.accuracy, trial.effective_n(self.credits) / _inflation(trial))
            score = Score(score.accuracy, low, high, score.p_value, score.n)
        direction = "above" if self.test.z > 0 else "below"
        p_value = float(np.exp(self.test.log_p))
        return Score(
            score.accuracy,
            score.low,
            score.high,
            p_value,
            score.n,
            direction,
            self.auc.value,
            self.auc.low,
            self.auc.high,
        )


def excess_ends(trial: Trial, found: ForestOutcome, score: Score) -> tuple[float, float]:
    """Return low and high end of how far the accuracy is above chance: of pairs, the majority is that of a sample."""
    if trial.data.grouped:
        return score.low - trial.chance, score.high - trial.chance
    rows = np.flatnonzero(trial.scored)
    return excess_interval(
        found.credits,
        trial.data.label_codes[rows],
        units=None if trial.groups is None else trial.groups[rows],
        weights=None if trial.weights is None else trial.weights[rows],
        inflation=_inflation(trial),
    )


def outcome(trial: Trial, features: npt.ArrayLike | Points, *, distinct: bool = True) -> ForestOutcome:
    """Return how well a forest on these features does on examples that it was not fitted on."""
    if distinct and trial.counts_points:
        return _of_cells(trial, trial.cells(features))
    rows = features.rows if isinstance(features, Points) else features
    probabilities = trial.probabilities(rows, distinct=distinct)
    return _of_rows(trial, probabilities, trial.chained(rows, probabilities, distinct=distinct))


def _of_rows(trial: Trial, probabilities: Floats, tested: Floats) -> ForestOutcome:
    if trial.data.grouped:
        scored, asked = (ScoredChoices.of_rows(trial.data, table) for table in (probabilities, tested))
        return _of_choices(trial, scored, asked)
    return ForestOutcome(
        trial.marks(probabilities), _test(trial, tested), _auc(trial, probabilities, _inflation(trial))
    )


def _of_cells(trial: Trial, cells: Cells, used: Sequence[int] | None = None) -> ForestOutcome:
    """Return the outcome of a forest on counted pairs, which sees some of their features."""
    data = trial.data
    crossed = cells.crossed(trial.settings, used)
    chained = cells.chained(trial.settings, crossed, used)
    if data.grouped:
        scored, tested = (ScoredChoices(data, partial(cells.right, table)) for table in (crossed, chained))
        return _of_choices(trial, scored, tested)
    tests = counted_score_tests(_cautious(chained), cells.counts, cells.cell, _units(trial))
    auc = counted_label_auc(crossed, cells.counts, cells.cell, _units(trial)[0], inflation=_inflation(trial))
    return ForestOutcome(cells.marks(crossed, trial.space), max(tests, key=lambda test: test.log_p), auc)


def _of_choices(trial: Trial, scored: ScoredChoices, tested: ScoredChoices) -> ForestOutcome:
    """Return the outcome of examples of several choices; copies of all their answers are one observation."""

    def of_examples(choices: ScoredChoices) -> Summary:
        first = choices.first_rows
        weights = None if trial.weights is None else trial.weights[first]
        if trial.groups is None:
            return {"units": trial.data.units("choices")[first], "weights": weights}
        return {"units": trial.groups[trial.data.example_codes[first]], "weights": weights}

    test = choice_score_test_in_parts(tested.shares, **of_examples(tested))
    auc = choice_auc_in_parts(scored.shares(), **of_examples(scored), inflation=_inflation(trial))
    return ForestOutcome(trial.space.stored(scored.credits), test, auc)


def _units(trial: Trial) -> list[Ints]:
    """Return what is one observation for tests and intervals: what stays in one fold, and copies of either sentence."""
    copies = [trial.data.units(scope) for scope in SCOPES]
    return copies if trial.groups is None else [trial.groups, *copies]


def _cautious(probabilities: Floats) -> Floats:
    """Return probabilities none of which is 0 or 1, as leaves of few pairs have them.

    One such mistake would outweigh everything else.
    """
    return np.asarray((1 - DOUBT) * probabilities + DOUBT / probabilities.shape[-1])


def _inflation(trial: Trial) -> float:
    return cross_fit_inflation(trial.folds) if trial.folds > 1 else 1.0


def _test(trial: Trial, probabilities: Floats) -> ScoreTest:
    """Return the test with connected examples or copies of either sentence as units: what leaves most to chance."""
    rows = np.flatnonzero(~np.isnan(probabilities[:, 0]))
    data, weights = trial.data, None if trial.weights is None else trial.weights[rows]
    labels, fold = data.label_codes[rows], trial.fold[rows]
    cautious = _cautious(probabilities[rows])
    tests = [
        score_test(cautious, labels, strata=fold, units=units[rows], weights=weights)
        for units in _units(trial)
    ]
    return max(tests, key=lambda test: test.log_p)


def _auc(trial: Trial, probabilities: Floats, inflation: float) -> Auc:
    rows = np.flatnonzero(trial.scored)
    data = trial.data
    weights = None if trial.weights is None else trial.weights[rows]
    return label_auc(
        probabilities[rows],
        data.label_codes[rows],
        strata=trial.fold[rows],
        units=_units(trial)[0][rows],
        weights=weights,
        inflation=inflation,
    )


def ablations(features: npt.ArrayLike | Points, trial: Trial) -> dict[str, ForestOutcome]:
    """Return the outcome of every set of the three leakage features."""
    if trial.counts_points:
        cells = trial.cells(features, by_rows=False)
        return {name: _of_cells(trial, cells, used) for name, used in ABLATIONS.items()}
    columns = np.asarray(features.rows if isinstance(features, Points) else features)
    assert columns.shape[1] == len(LEAKAGE_FEATURES)
    return {name: outcome(trial, columns[:, list(used)]) for name, used in ABLATIONS.items()}
