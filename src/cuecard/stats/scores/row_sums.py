"""Sums over examples that scores need: by stratum, unit and label, chunk by chunk and in the order of the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Array, Bools, Codes, Floats, chunks, counted

#: Numbers that are squared at a time.
CHUNK = 1 << 18
#: Numbers from 0 to below this many times the number of examples are codes already.
ROOM = 4


def unit_codes(values: npt.ArrayLike | None, n: int) -> tuple[Codes, int]:
    """Return a number from 0 for every example that examples of one value share, and one more than the largest."""
    if values is None:
        return np.zeros(n, np.int8), min(n, 1)
    codes = np.asarray(values)
    if codes.shape != (n,):
        raise ValueError("strata and units must have one value per example")
    if not n:
        return np.zeros(0, np.int64), 0
    if np.issubdtype(codes.dtype, np.integer) and codes.min() >= 0 and codes.max() < ROOM * n:
        return codes, int(codes.max()) + 1
    codes = np.unique(codes, return_inverse=True)[1]
    return codes, int(codes.max()) + 1


def number_of_units(values: Codes) -> int:
    """Return how many different units there are."""
    codes, n = unit_codes(values, len(values))
    return int(np.count_nonzero(counted(codes, n)))


def beside_others(sums: Array, sizes: Array, total: float) -> Floats:
    """Return sums of deviations from the mean of all, of units that are compared with the mean of the other units.

    A unit that holds most of the examples is the mean itself, and deviates little from it whatever its examples share;
    leaving it out of the mean divides its deviation by the share of the others (the jackknife). A unit of everything
    has nothing beside it.

    >>> beside_others(np.array([1.0, -1.0]), np.array([3, 1]), total=4)
    array([ 4.        , -1.33333333])
    """
    left = 1 - sizes / total
    return np.divide(sums, left, out=np.zeros(len(sums)), where=left > 0)


def weights_of(weights: npt.ArrayLike | None) -> Floats:
    """Return the weights of examples, or one number where all count the same."""
    return np.ones(1) if weights is None else np.asarray(weights, np.float64)


def sum_of_squares(values: Array, centre: float = 0.0) -> float:
    """Return the sum of the squared distances of numbers from one."""
    parts = (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
    return float(sum(((part - centre) ** 2).sum() for part in parts))


#: Terms that are added up before they are added to the total, so that rounding errors do not grow with all.
BLOCK = 4_096
#: Examples at a time.
ROWS = 1 << 18


class Examples(NamedTuple):
    """What the score of examples is made of; `weight` has one number for all examples, or one for each.

    `shares` are the weights of the labels: logs of probabilities are relative to what an example would score with any
    label. No probability counts as less than `smallest`.
    """

    probabilities: Floats
    codes: Codes
    strata: Codes
    weight: Floats
    shares: Floats
    smallest: float

    def logs(self, rows: slice) -> Floats:
        """Return the relative logs of some examples."""
        return relative_logs(self.probabilities[rows], self.shares, self.smallest)

    def weights(self, rows: slice) -> Floats:
        """Return the weights of some examples."""
        return self.weight if len(self.weight) == 1 else self.weight[rows]


class Moments(NamedTuple):
    """Variance and third moment of every stratum, and the sum of the squared variances of examples."""

    variance: Floats
    third: Floats
    squares: float


class BlockSum:
    """A sum of terms that come chunk by chunk; it does not depend on the chunks."""

    def __init__(self, n: int) -> None:
        self._blocks = np.zeros(n // BLOCK + 1)
        self._done = 0

    def add(self, terms: Floats) -> None:
        """Add terms one after the other."""
        np.add.at(self._blocks, (self._done + np.arange(len(terms))) // BLOCK, terms)
        self._done += len(terms)

    def total(self) -> float:
        """Return the sum of all blocks."""
        return float(np.cumsum(self._blocks)[-1])


def relative_logs(probabilities: Floats, shares: Floats, smallest: float) -> Floats:
    """Return the logs of probabilities, relative to what each row would score with any label."""
    logs = np.log(np.maximum(probabilities, smallest))
    mean = np.zeros(len(logs))
    for of_label, share in zip(logs.T, shares, strict=True):
        mean += of_label * share
    logs -= mean[:, None]
    return np.asarray(logs)


def label_sums(codes: Codes, strata: Codes, weight: Floats, n_strata: int, k: int) -> Floats:
    """Return the sums of the weights to the power of 0, 1, 2 and 3, by stratum and label."""
    sums = np.zeros((4, n_strata * k))
    for rows in chunks(len(codes), ROWS):
        cell = strata[rows].astype(np.int64) * k + codes[rows]
        mass = weight if len(weight) == 1 else weight[rows]
        power = np.ones(1)
        for of_power in sums:
            np.add.at(of_power, cell, power)
            power = power * mass
    return sums.reshape(4, n_strata, k)


def score_sums(examples: Examples, sums: Floats) -> float:
    """Add the logs of every example to the sums of its stratum; return the score of all examples."""
    n, k = examples.probabilities.shape
    by_label, score = np.zeros((k, len(sums))), BlockSum(n)
    for rows in chunks(n, ROWS):
        logs = examples.logs(rows)
        for label in range(k):
            np.add.at(by_label[label], examples.strata[rows], logs[:, label])
        score.add(logs[np.arange(len(logs)), examples.codes[rows]] * examples.weights(rows))
    sums += by_label.T
    return score.total()


def score_moments(
    examples: Examples, means: Floats, labels: Floats, units: Codes, own: Floats, spread: Floats
) -> Moments:
    """Return the moments of the score when labels are permuted within strata.

    `means` are those of the logs by stratum, and `labels` what `label_sums` returns. What every example adds to the
    score and to its variance is added to `own` and `spread` at the place of its unit.
    """
    n = len(examples.codes)
    variance, third, squares = np.zeros(len(means)), np.zeros(len(means)), BlockSum(n)
    sizes, marks = labels[0].sum(axis=1), mean_marks(labels)
    for rows in chunks(n, ROWS):
        stratum, logs = examples.strata[rows], examples.logs(rows)
        left = logs - means[stratum]
        along, second, cube = _terms(left, marks[stratum], labels[:, stratum], sizes[stratum])
        gained = examples.weights(rows) * left[np.arange(len(left)), examples.codes[rows]]
        np.add.at(own, units[rows], gained - along)
        several = sizes[stratum] >= 2
        second, cube = np.where(several, second, 0.0), np.where(several, cube, 0.0)
        np.add.at(spread, units[rows], second)
        np.add.at(variance, stratum, second)
        np.add.at(third, stratum, cube)
        squares.add(second * second)
    return Moments(variance, _scaled_third(third, sizes), squares.total())


def mean_marks(labels: Floats) -> Floats:
    """Return the mean marks of labels by stratum, of what `label_sums` returns."""
    return np.asarray(labels[1] / np.maximum(labels[0].sum(axis=1), 1.0)[:, None])


def _terms(left: Floats, marks: Floats, labels: Floats, size: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what logs score with the mean marks, and what they add to variance and third moment of their stratum.

    `left` are logs beyond the means of their stratum, a row each; `labels` sums of weights to several powers.
    """
    along = np.zeros(len(left))
    for j in range(left.shape[1]):
        along += left[:, j] * marks[:, j]
    second = -size * along * along
    cube = -size * along * along * along
    for j in range(left.shape[1]):
        log = left[:, j]
        second += labels[2, :, j] * log * log
        cube += log * log * (labels[3, :, j] * log - 3 * labels[2, :, j] * along)
        cube += 3 * labels[1, :, j] * log * along * along
    return along, second / np.maximum(size - 1, 1.0), cube


def _scaled_third(third: Floats, sizes: Floats) -> Floats:
    """Return third moments of strata from their sums of cubes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 2, third * (sizes / ((sizes - 1) * (sizes - 2))), 0.0)


class Cells(NamedTuple):
    """Examples that are counted: those of a cell share stratum, point and label.

    A cell is a place in a table of strata × points × labels; `tested` says which strata × points have probabilities,
    and `points` how many there are in each stratum.
    """

    cell: Array
    tested: Bools
    points: int
    k: int

    def kept(self, rows: slice) -> tuple[Array, Array]:
        """Return the point and the cell of tested examples among some."""
        cell = self.cell[rows]
        point = cell // self.k
        known = self.tested[point]
        return point[known], cell[known]


def counted_score_sums(cells: Cells, logs: Floats, sums: Floats) -> float:
    """Add the logs of every tested example to the sums of its stratum; return the score of all of them."""
    by_label, score = np.zeros((cells.k, len(sums))), BlockSum(len(cells.cell))
    for rows in chunks(len(cells.cell), ROWS):
        point, cell = cells.kept(rows)
        for label in range(cells.k):
            np.add.at(by_label[label], point // cells.points, logs[point, label])
        score.add(logs.ravel()[cell])
    sums += by_label.T
    return score.total()


def point_terms(cells: Cells, logs: Floats, means: Floats, labels: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what an example of a cell adds to the score, and one of a point to variance and third moment.

    `means` are those of the logs by stratum, and `labels` what `label_sums` returns.
    """
    own, second, cube = np.zeros_like(logs), np.zeros(len(logs)), np.zeros(len(logs))
    sizes, marks = labels[0].sum(axis=1), mean_marks(labels)
    known = np.flatnonzero(cells.tested)
    stratum = known // cells.points
    left = logs[known] - means[stratum]
    along, variance, third = _terms(left, marks[stratum], labels[:, stratum], sizes[stratum])
    own[known] = left - along[:, None]
    several = sizes[stratum] > 1
    second[known] = np.where(several, variance, 0.0)
    cube[known] = np.where(several, third, 0.0)
    return own, second, cube


def counted_moments(cells: Cells, second: Floats, cube: Floats, sizes: Floats) -> Moments:
    """Return the moments of the score, as `score_moments` does."""
    n = len(cells.cell)
    variance, third, squares = np.zeros(len(sizes)), np.zeros(len(sizes)), BlockSum(n)
    for rows in chunks(n, ROWS):
        point, _ = cells.kept(rows)
        np.add.at(variance, point // cells.points, second[point])
        np.add.at(third, point // cells.points, cube[point])
        squares.add(second[point] * second[point])
    return Moments(variance, _scaled_third(third, sizes), squares.total())


def counted_unit_sums(
    cells: Cells, unit: Codes, own: Floats, second: Floats, n_units: int
) -> tuple[Codes, Floats, Floats]:
    """Return how many tested examples every unit has, and sums of what they add to the score and to its variance."""
    size = np.zeros(n_units, dtype=np.int64)
    owns, spreads = np.zeros(n_units), np.zeros(n_units)
    for rows in chunks(len(cells.cell), ROWS):
        cell = cells.cell[rows]
        point = cell // cells.k
        known = cells.tested[point]
        units = unit[rows][known]
        size += np.bincount(units, minlength=n_units)
        np.add.at(owns, units, own.ravel()[cell[known]])
        np.add.at(spreads, units, second[point[known]])
    return size, owns, spreads
