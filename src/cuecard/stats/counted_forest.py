"""Random forests on distinct points with counts per label, cross-fitted or on all rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isqrt
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats.arrays import Array, Codes, Floats, Ints, Threads

__all__ = [
    "Forest",
    "Points",
    "cross_fitted",
    "distinct_points",
    "fold_numbers",
    "forest_probabilities",
    "in_threads",
    "on_counts",
    "points_in_parts",
]


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct rows: row i of the table is `values[index[i]]`."""

    values: Floats
    index: Codes

    def __len__(self) -> int:
        return len(self.values)

    @property
    def rows(self) -> Floats:
        """The table itself."""
        rows: Floats = self.values[self.index]
        return rows

    def counts(self, labels: npt.ArrayLike, n_labels: int, weights: Floats | None = None) -> Array:
        """Return how often every point carries every label, or with how much weight."""
        codes = np.asarray(labels, dtype=np.int64)
        flat = np.bincount(self.index * n_labels + codes, weights, minlength=len(self) * n_labels)
        return flat.reshape(len(self), n_labels)


def distinct_points(rows: npt.ArrayLike) -> Points:
    """Return the distinct rows of a table of numbers in lexicographic order, with every row's number."""
    table = np.asarray(rows, dtype=np.float64)
    index: Ints = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        values, codes = np.unique(column, return_inverse=True)
        index = np.unique(index * len(values) + codes, return_inverse=True)[1].astype(np.int64)
    where = np.empty(int(index.max(initial=-1)) + 1, dtype=np.int64)
    where[index] = np.arange(len(table))
    return Points(table[where], index)


def points_in_parts(parts: Iterable[tuple[slice, Array]], index: Codes) -> Points:
    """Return the distinct rows of a table that comes in parts, each with where it is; `index` is written.

    They are those of `distinct_points`, of a table that is never in memory.
    """
    ranges, found = [], []
    for where, table in parts:
        own = distinct_points(table)
        index[where] = own.index
        ranges.append(where)
        found.append(own.values)
    if not found:
        return Points(np.empty((0, 0)), index)
    together = distinct_points(np.concatenate(found))
    start = 0
    for where, values in zip(ranges, found, strict=True):
        index[where] = together.index[start : start + len(values)][index[where]]
        start += len(values)
    return Points(together.values, index)


#: The impurity that cuts lower.
Criterion = Literal["gini", "entropy"]


@dataclass(frozen=True)
class Forest:
    """How many trees are grown, how deep they may be, the seed of their draws, and by which impurity they cut."""

    trees: int
    depth: int = 30
    seed: int = 0
    criterion: Criterion = "gini"


def forest_probabilities(
    train: npt.ArrayLike,
    labels: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    n_labels: int,
    trees: int,
    depth: int | None,
    seed: int = 0,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return P(label) for every test row from a random forest on the training rows.

    The numbers are those of ``RandomForestClassifier(trees, max_depth=depth, random_state=seed)``, bit for bit:
    the bootstrap draws rows as scikit-learn does, and the draws of equal rows with equal labels are then one
    weighted row, which leaves every count in every node, and so every split, as it was. `weights` of the training rows
    multiply how often a row was drawn.
    """
    from sklearn import config_context
    from sklearn.tree import DecisionTreeClassifier

    x = np.asarray(train, dtype=np.float32)
    y = np.asarray(labels, dtype=np.int64)
    cells = distinct_points(np.column_stack([x, y]))
    cell_rows = cells.values[:, :-1].astype(np.float32)
    cell_labels = cells.values[:, -1].astype(np.int64)
    test_points = distinct_points(np.asarray(test, dtype=np.float32))
    asked_rows = test_points.values.astype(np.float32)
    probabilities = np.zeros((len(test_points), n_labels))
    present = np.unique(y)
    row_weights = np.asarray(weights, dtype=np.float64)
    seeds = np.random.RandomState(seed)
    for _ in range(trees):
        tree_seed = seeds.randint(np.iinfo(np.int32).max)
        drawn = np.random.RandomState(tree_seed).randint(0, len(y), len(y), dtype=np.int32)
        mass = np.bincount(cells.index[drawn], None if weights is None else row_weights[drawn], len(cells))
        tree = DecisionTreeClassifier(max_depth=depth, max_features="sqrt", random_state=tree_seed)
        with config_context(skip_parameter_validation=True, assume_finite=True):  # the same for all trees
            tree.fit(cell_rows, cell_labels, sample_weight=mass.astype(np.float64), check_input=False)
            probabilities[:, present] += tree.predict_proba(asked_rows, check_input=False)
    of_rows: Floats = (probabilities / trees)[test_points.index]
    return of_rows


T = TypeVar("T")


def fold_numbers(n: int, folds: int, *, groups: npt.ArrayLike | None = None, seed: int = 0) -> Ints:
    """Return a fold for every row, drawn at random in equal sizes; rows of one group share theirs."""
    if groups is None:
        return small_fold_numbers(n, folds, seed=seed).astype(np.int64)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    return small_fold_numbers(int(codes.max(initial=-1)) + 1, folds, seed=seed).astype(np.int64)[codes]


def small_fold_numbers(n: int, folds: int, *, seed: int = 0) -> Codes:
    """Return what `fold_numbers` returns, in a byte each where there are no more than 255 folds."""
    drawn: Codes = np.empty(n, dtype=np.uint8 if folds < 256 else np.uint32)
    drawn[:] = np.resize(np.arange(folds, dtype=drawn.dtype), n)
    np.random.default_rng(seed).shuffle(drawn)
    return drawn


def cross_fitted(
    rows: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    n_labels: int,
    folds: Ints,
    forest: Forest,
    threads: int | None = None,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return P(label | row) for every row from a random forest fitted on the rows of the other folds.

    The forests are those of scikit-learn's settings (Gini or entropy, sqrt of the features tried per node, bootstrap of
    all rows), drawn with another random generator. A fold whose complement is empty gets equal probabilities.
    The result does not depend on the number of threads.

    With `weights`, one per row, the bootstrap draws a row Poisson(weight) times. Whole weights give what as many
    copies of the rows give.
    """
    points = distinct_points(rows)
    codes = np.asarray(labels, dtype=np.int64)
    values, ranks = _ranked(points.values)
    mass = None if weights is None else np.asarray(weights, dtype=np.float64)
    counts = points.counts(codes, n_labels, mass)
    point, label = np.nonzero(counts)
    cells = np.column_stack([ranks[:, point].T, label]).astype(np.int32)
    tried = max(1, isqrt(points.values.shape[1]))
    probabilities = np.full((len(codes), n_labels), 1 / n_labels)
    order = np.argsort(folds, kind="stable")
    bounds = np.searchsorted(folds[order], np.arange(int(folds.max(initial=-1)) + 2))

    def one_fold(fold: int) -> None:
        here = order[bounds[fold] : bounds[fold + 1]]
        if here.size in (0, len(codes)):
            return
        held, place = np.unique(points.index[here].astype(np.int64), return_inverse=True)
        left_out = np.bincount(
            points.index[here] * n_labels + codes[here], None if mass is None else mass[here], counts.size
        )
        kept = (counts - left_out.reshape(counts.shape))[point, label]
        kept, rests = (kept, np.empty(0)) if mass is None else _whole_and_rest(kept)
        mixed = np.random.SeedSequence([forest.seed, fold]).generate_state(1, np.uint64)[0]
        leaves = _native.forest(
            values, ranks, cells, kept, rests, n_labels, held, forest.trees, forest.depth, tried, mixed,
            forest.criterion == "entropy",
        )  # fmt: skip
        probabilities[here] = leaves[place]

    in_threads(one_fold, len(bounds) - 1, threads)
    return probabilities


def on_counts(values: Floats, fitted: Ints, asked: Ints, forest: Forest) -> Floats:
    """Return P(label | point) from a forest on points that carry every label `fitted` times; nan where none is asked.

    Without anything to fit, every label is as likely. `asked` has how many rows of each point are scored.
    """
    n_labels = fitted.shape[1]
    probabilities = np.full(fitted.shape, np.nan)
    if not fitted.any():
        probabilities[asked > 0] = 1 / n_labels
        return probabilities
    here = np.flatnonzero(fitted.any(axis=1) | (asked > 0))
    fitted, asked = fitted[here], asked[here]
    of_points, ranks = _ranked(values[here])
    counts = fitted.copy()
    counts[:, 0] += asked  # a point that is only scored is drawn 0 times
    point, label = np.nonzero(counts)
    cells = np.column_stack([ranks[:, point].T, label]).astype(np.int32)
    held = np.flatnonzero(asked)
    mixed = np.random.SeedSequence([forest.seed, 0]).generate_state(1, np.uint64)[0]
    probabilities[here[held]] = _native.forest(
        of_points,
        ranks,
        cells,
        fitted[point, label].astype(np.int64, copy=False),
        np.empty(0),
        n_labels,
        held,
        forest.trees,
        forest.depth,
        max(1, isqrt(values.shape[1])),
        mixed,
        forest.criterion == "entropy",
    )
    return probabilities


def in_threads(work: Callable[[int], T], n: int, threads: int | None = None) -> list[T]:
    """Return what a function returns for 0 … n − 1, each computed in a thread."""
    with Threads(threads or _cores()) as pool:
        return list(pool.map(work, range(n)))


def _whole_and_rest(mass: Array) -> tuple[Ints, Floats]:
    """Return the whole part of sums of weights and what is left, rounding errors of sums taken off."""
    exact = np.maximum(np.round(mass, 9), 0.0)
    whole = np.floor(exact)
    return whole.astype(np.int64), exact - whole


def _ranked(points: Floats) -> tuple[Floats, Ints]:
    """Return per feature the sorted distinct values, and every point's place among them."""
    n, n_features = points.shape
    values = np.zeros((n_features, max(n, 1)))
    ranks = np.zeros((n_features, n), dtype=np.int64)
    for f in range(n_features):
        distinct, ranks[f] = np.unique(points[:, f], return_inverse=True)
        values[f, : len(distinct)] = distinct
    return values, ranks


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
