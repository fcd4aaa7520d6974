"""How well forests on graph features predict the label: fit on train and dev, score on test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.audits.pair_graph.cells import Cells, ScoredChoices, counted_cells
from cuecard.audits.partial_input.cross_fit import doubling
from cuecard.audits.partial_input.folds import Folds, Grouping, make_folds, observations
from cuecard.data import Instances
from cuecard.data.space import Space
from cuecard.registry import unknown_name
from cuecard.stats import accuracy_log_p, q_values, wilson
from cuecard.stats.arrays import Array, Bools, Codes, Floats, Ints, counted
from cuecard.stats.counted_forest import (
    Forest,
    Points,
    cross_fitted,
    distinct_points,
    forest_probabilities,
)
from cuecard.stats.scores.cross_fit_intervals import effective_units
from cuecard.stats.units.codes import counts_of_codes
from cuecard.stats.weighted import weighted_share

ForestName = Literal["fast", "paper", "paper-small", "paper-large"]

FOREST_NAMES: tuple[str, ...] = get_args(ForestName)

#: Trees and depth of the named forests; the first two are the Selection paper's.
FORESTS: dict[str, tuple[int, int]] = {"paper-small": (500, 5), "paper-large": (200, 30), "fast": (100, 10)}

#: The paper calls sets of a few thousand pairs small and sets of hundreds of thousands large.
SMALL_ROWS = 20_000

#: The seven sets of the three leakage features, by the names the card uses.
ABLATIONS: dict[str, tuple[int, ...]] = {
    "leakage": (0, 1, 2),
    "s1_freq": (0,),
    "s2_freq": (1,),
    "s1s2_inter": (2,),
    "without_s1_freq": (1, 2),
    "without_s2_freq": (0, 2),
    "without_s1s2_inter": (0, 1),
}


@dataclass(frozen=True)
class Score:
    """An accuracy with its Wilson interval and a test against chance.

    Of a weighted accuracy both take as many equal examples as have its own error; `n` are the examples scored.
    `direction` says on which side of chance the log score is, `auc` how well probabilities rank the label.
    """

    accuracy: float
    low: float
    high: float
    p_value: float
    n: int
    direction: str = "above"
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """What is fitted on what: the round that scores every row, by a forest on the others, and how answers are marked.

    With a test split there is one round, number 0: train and dev, number 1, against test. Without, the examples are cut
    into folds and each is scored by a forest on the others. Examples that are connected by sentences stay in one fold:
    where a sentence has a frequency of its own, its pairs in other folds would give their labels away. `weights`, one
    per row, count where a forest is fitted and where it is scored.
    """

    data: Instances
    number: Codes
    folds: int
    trees: int
    depth: int
    forest: str
    seed: int
    weights: Floats | None = None
    #: What stays in one fold, without a test split.
    kept_together: Folds | None = None
    #: The group of every example that is one observation; None where each stands alone, or is scored as test.
    groups: Ints | None = None

    @property
    def space(self) -> Space:
        """Where numbers of every pair are."""
        return self.data.space

    @property
    def rounds(self) -> tuple[tuple[Bools, Bools], ...]:
        """The rows to fit and the rows to score, of every round."""
        return tuple((self.number != fold, self.number == fold) for fold in range(self.folds))

    @property
    def scored(self) -> Bools:
        """Which rows are scored."""
        return np.asarray(self.number < self.folds)

    @property
    def fold(self) -> npt.NDArray[np.int64]:
        """The round that scores every row; 0 where none does."""
        return np.where(self.scored, self.number, 0).astype(np.int64)

    @property
    def settings(self) -> Forest:
        """The forest that is fitted on counted points."""
        return Forest(self.trees, self.depth, self.seed)

    @property
    def counts_points(self) -> bool:
        """Whether forests are fitted on counted points, whatever the number of rows."""
        return self.forest == "fast" and self.weights is None

    def n_cells(self, points: Points) -> int:
        """Return how many numbers there are of these points, by fold and label."""
        return self.folds * len(points) * len(self.data.labels)

    def cells(self, features: npt.ArrayLike | Points, *, by_rows: bool = True) -> Cells:
        """Return the pairs counted by round, features and label."""
        points = features if isinstance(features, Points) else distinct_points(features)
        labels, n_labels = self.data.label_codes, len(self.data.labels)
        return counted_cells(
            points, self.number, self.folds, labels, n_labels, space=self.space, by_rows=by_rows
        )

    @property
    def example_weights(self) -> Floats | None:
        """The weights of the scored examples."""
        if self.weights is None:
            return None
        examples = self.data.example_codes[self.scored]
        return self.weights[self.scored][np.unique(examples, return_index=True)[1]]

    def mean(self, values: Array, which: Bools | slice = slice(None)) -> float:
        """Return the mean of a value of the scored examples, or of some of them, by their weights."""
        weights = self.example_weights
        return float(np.average(values[which], weights=None if weights is None else weights[which]))

    @property
    def chance(self) -> float:
        """Share of the most frequent label among the scored pairs; for choices, of a blind guess."""
        if self.data.grouped:
            begins = self.data.first_rows
            sizes = np.diff(begins)[self.number[begins[:-1]] < self.folds]
            return self.mean(1 / sizes) if sizes.size else 0.0
        labels = self.data.label_codes if self.folds > 1 else self.data.label_codes[self.scored]
        counts: Array = (
            counts_of_codes(labels, len(self.data.labels))
            if self.weights is None
            else np.bincount(labels, self.weights[self.scored], minlength=1)
        )
        return float(counts.max() / counts.sum())

    def credits(self, features: npt.ArrayLike, *, distinct: bool = True) -> Floats:
        """Return 1 for every scored example that the forest gets right; a tie between k choices counts 1/k."""
        return self.marks(self.probabilities(features, distinct=distinct))

    def probabilities(self, features: npt.ArrayLike, *, distinct: bool = True) -> Floats:
        """Return P(label) for every row from a forest that was not fitted on it; nan where none scores it.

        `distinct` says that few rows differ, so that the forest is fitted on distinct rows; the numbers are the
        same either way.
        """
        if distinct and self.counts_points:
            cells = self.cells(features)
            return cells.of_pairs(cells.crossed(self.settings))
        return self._over(self.rounds, features, distinct)

    def chained(self, features: npt.ArrayLike, crossed: Floats, *, distinct: bool = True) -> Floats:
        """Return P(label) from forests on earlier folds only, with `crossed` where the forest is one of those.

        Nan for the first fold, which nothing comes before. With a test split they are the probabilities themselves.
        """
        if self.folds == 1:
            return crossed
        parts = [score for _, score in self.rounds]
        ahead = [
            (np.logical_or.reduce(parts[:first]), np.logical_or.reduce(parts[first:last]))
            for first, last in doubling(len(parts) - 1)
        ]
        probabilities = self._over(ahead, features, distinct)
        probabilities[parts[-1]] = crossed[parts[-1]]
        return probabilities

    def _over(self, rounds: Sequence[tuple[Bools, Bools]], features: npt.ArrayLike, distinct: bool) -> Floats:
        columns = standardised(features)
        n_labels = len(self.data.labels)
        probabilities = np.full((len(columns), n_labels), np.nan)
        for fit, score in rounds:
            fit = fit if self.weights is None else fit & (self.weights > 0)
            weights = None if self.weights is None else self.weights[fit]
            probabilities[score] = self._one(
                columns[fit], self.data.label_codes[fit], columns[score], n_labels, distinct, weights
            )
        return probabilities

    def _one(
        self,
        train: Floats,
        labels: npt.NDArray[np.int32],
        test: Floats,
        n_labels: int,
        distinct: bool,
        weights: Floats | None,
    ) -> Floats:
        if distinct and self.forest == "fast":
            rows = np.concatenate([test, train])
            unseen = np.zeros(
                len(test), dtype=labels.dtype
            )  # the labels of the fold that is scored are not used
            probabilities = cross_fitted(
                rows,
                np.concatenate([unseen, labels]),
                n_labels=n_labels,
                folds=np.repeat([0, 1], [len(test), len(train)]),
                forest=self.settings,
                weights=None if weights is None else np.concatenate([np.ones(len(test)), weights]),
            )
            return probabilities[: len(test)]
        if distinct:
            return forest_probabilities(
                train, labels, test,
                n_labels=n_labels, trees=self.trees, depth=self.depth, seed=self.seed, weights=weights,
            )  # fmt: skip
        from sklearn.ensemble import RandomForestClassifier

        model = RandomForestClassifier(self.trees, max_depth=self.depth, random_state=self.seed, n_jobs=-1)
        model.fit(train, labels, sample_weight=weights)
        probabilities = np.zeros((len(test), n_labels))
        probabilities[:, model.classes_] = model.predict_proba(test)
        return probabilities

    def marks(self, probabilities: Floats) -> Floats:
        """Return the credit of every scored example for these probabilities."""
        if self.data.grouped:
            return ScoredChoices.of_rows(self.data, probabilities).credits
        likely = probabilities[self.scored].argmax(axis=1)
        return np.asarray(likely == self.data.label_codes[self.scored], dtype=np.float64)

    def effective_n(self, credits: Array) -> float:
        """Return how many independent examples that count the same have the error of the credits' mean."""
        weights = self.example_weights
        if self.groups is not None:
            return effective_units(credits, self.groups, weights)
        return len(credits) if weights is None else weighted_share(credits, weights).effective_n

    def score(self, credits: Array) -> Score:
        """Return the accuracy of marked examples beside its interval and the exact one-sided test of hits."""
        weights = self.example_weights
        if weights is not None:
            share = weighted_share(credits, weights)
            worth = max(round(share.effective_n), 1)
            log_p = accuracy_log_p(np.floor(share.share * worth), worth, self.chance, "greater")
            return Score(share.share, share.low, share.high, float(np.exp(log_p)), len(credits))
        n, correct = len(credits), float(credits.sum())
        # Halves from ties are rounded down for interval and test, which need whole answers.
        low, high = wilson(np.floor(correct), n)
        log_p = accuracy_log_p(np.floor(correct), n, self.chance, "greater")
        p_value = float(np.exp(log_p))
        return Score(correct / max(n, 1), float(low), float(high), p_value, n)


def trial(
    data: Instances,
    *,
    forest: str,
    folds: int,
    seed: int,
    weights: Floats | None = None,
    connected: bool = True,
) -> Trial:
    """Return the trial that a dataset allows, with the forest of that name.

    Without a test split, examples that are `connected` by sentences stay in one fold.
    """
    number: Codes
    together = groups = None
    if data.test is not None:
        folds, number = 1, (data.table["split"].cast(pl.String) != "test").to_numpy().astype(np.uint8)
    else:
        strata = np.broadcast_to(np.int64(0), data.n_examples) if data.grouped else data.label_codes
        grouping: Grouping = "sentence" if connected else "example"
        together = make_folds(data, strata, folds=folds, grouping=grouping, seed=seed)
        if together.grouping != "example":
            groups = observations(data, together.connected)
        used = np.flatnonzero(counted(together.fold))
        folds, place = len(used), np.zeros(int(used[-1]) + 1, dtype=np.uint8 if folds < 256 else np.uint32)
        place[used] = np.arange(folds)
        number = data.space.computed(place.dtype, data.n_examples, lambda chunk: place[together.fold[chunk]])
        number = data.space.gathered(number, data.example_codes) if data.grouped else number
    if forest == "paper":
        rows = max((int((number != fold).sum()) for fold in range(folds)), default=0)
        forest = "paper-small" if rows <= SMALL_ROWS else "paper-large"
    name = forest
    if name not in FORESTS:
        raise unknown_name("forest", name, list(FOREST_NAMES))
    trees, depth = FORESTS[name]
    return Trial(data, number, folds, trees, depth, name, seed, weights, together, groups)


def standardised(features: npt.ArrayLike) -> Floats:
    """Return the columns with mean 0 and variance 1 over all rows, as the paper has them.

    A forest does not care, but for the last digit: thresholds are rounded to 32 bits, and rows that lie on one
    can change sides. Over all rows, train and test together, the printed accuracies come out.
    """
    columns = np.asarray(features, dtype=np.float64)
    spread = columns.std(axis=0)
    scaled: Floats = (columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return scaled


def ablation_q_values(scores: Mapping[str, Score]) -> dict[str, float]:
    """Return the Benjamini–Hochberg q-value of every ablation among them; the larger sets are not part of it."""
    names = [name for name in ABLATIONS if name in scores]
    with np.errstate(divide="ignore"):  # a p-value too small for a float is 0, and so is its q-value
        log_p = np.log([min(scores[name].p_value, 1.0) for name in names])
    return dict(zip(names, q_values(log_p).tolist(), strict=True))
