"""Score tests and areas of examples that are counted: those of one cell share their probabilities and their label.

Cells are by stratum, point and label. Only sums over units go through all examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.scores import _kernels
from cuecard.stats.scores.auc import Auc, auc_interval, pair_shares
from cuecard.stats.scores.score_test import (
    SMALLEST_PROBABILITY,
    Null,
    ScoreTest,
    deviations,
    permuted_tails,
)
from cuecard.stats.scores.unit_codes import sum_of_squares, unit_codes

Array = npt.NDArray[Any]


def counted_score_test(
    probabilities: Floats, counts: Ints, cell: Array, units: npt.ArrayLike | None = None, *, seed: int = 0
) -> ScoreTest:
    """Return `score_test` of counted examples.

    Args:
        probabilities: of every label (the last axis), by stratum and point; nan where examples are not tested.
        counts: how many examples a stratum has at a point with each label.
        cell: of every example, its place in `counts`, all axes one after the other.
        units: see `score_test`.
        seed: see `score_test`.
    """
    tested = ~np.isnan(probabilities[..., 0])
    counts = counts * tested[..., None]
    labels, n = counts.sum(axis=1), int(counts.sum())
    if not n:
        return ScoreTest(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, "constant")
    shares, sizes = labels.sum(axis=0) / n, labels.sum(axis=1)
    logs = np.log(np.maximum(np.where(tested[..., None], probabilities, 1.0), SMALLEST_PROBABILITY))
    logs -= (logs @ shares)[..., None]
    of_points = counts.sum(axis=2)
    filled = np.maximum(sizes, 1)[:, None]
    means = (of_points[..., None] * logs).sum(axis=1) / filled
    score, expected = float((counts * logs).sum()), float((means * labels).sum())
    left = logs - means[:, None]
    own, spread, third = _moments(left, labels, sizes)
    null = Null(
        n,
        expected,
        float((of_points * spread).sum()),
        float((of_points * third).sum()),
        float((of_points * spread**2).sum()),
    )

    def drawn_tails() -> tuple[float, float]:
        point, code = np.divmod(cell, labels.shape[1])
        rows = np.flatnonzero(tested.ravel()[point])
        table = probabilities.reshape(-1, labels.shape[1])[point[rows]]
        strata = point[rows] // tested.shape[1]
        parts = deviations(table, code[rows], np.ones(len(rows)), shares, strata)
        return permuted_tails(parts, score - expected, seed)

    if units is None:
        return null.test(score, None, drawn_tails)
    unit, n_units = unit_codes(units, len(cell))
    size, owns, spreads = np.zeros(n_units, dtype=np.int32), np.zeros(n_units), np.zeros(n_units)
    each = np.repeat(spread.ravel(), labels.shape[1])
    _add_tested(cell, unit, (counts > 0).ravel(), own.ravel(), each, size, owns, spreads)
    return null.test(score, (size, owns, spreads), drawn_tails)


def _moments(left: Floats, labels: Ints, sizes: Ints) -> tuple[Floats, Floats, Floats]:
    """Return what an example of every cell adds to the score, and of every point to its variance and third moment.

    `left` are the logs beyond their means, and `labels` how many examples of a stratum have each label.
    """
    size, mass = sizes[:, None].astype(np.float64), labels[:, None]
    along = (left * (mass / np.maximum(size, 1)[..., None])).sum(axis=2)
    own = left - along[..., None]
    second = ((mass * left**2).sum(axis=2) - size * along**2) / np.maximum(size - 1, 1)
    third = (mass * left**2 * (left - 3 * along[..., None])).sum(axis=2)
    third += 3 * (mass * left).sum(axis=2) * along**2 - size * along**3
    third *= size / np.maximum((size - 1) * (size - 2), 1)
    return own, np.where(size > 1, second, 0.0), np.where(size > 2, third, 0.0)


def counted_label_auc(
    probabilities: Floats, counts: Ints, cell: Array, units: npt.ArrayLike, *, inflation: float = 1.0
) -> Auc:
    """Return `label_auc` of counted examples; the arguments are those of `counted_score_test`."""
    counts = counts * ~np.isnan(probabilities[..., :1])
    shares, ranked = pair_shares(counts.sum(axis=1).astype(np.float64))
    if not ranked:
        return Auc(float("nan"), 0.0, 1.0)
    area, mass = 0.0, counts.ravel().astype(np.float64)
    influence = np.zeros(len(mass))
    codes = np.broadcast_to(np.arange(counts.shape[2]), counts.shape).ravel()
    for part in np.flatnonzero(shares.any(axis=1)):
        rows = np.flatnonzero(counts[part]) + int(part) * counts[part].size
        point = rows // counts.shape[2]
        for label in np.flatnonzero(shares[part]):
            scores = probabilities.reshape(-1, counts.shape[2])[point, label]
            share = float(shares[part, label]) / ranked
            order = np.argsort(scores)  # equal scores count the same in any order
            area += share * _kernels.rank(scores, order, rows, codes, label, mass, share, influence)
    each = np.divide(influence, mass, out=influence, where=mass > 0)
    unit, n_units = unit_codes(units, len(cell))
    sums = np.zeros(n_units)
    _add(cell, unit, each, sums)
    return auc_interval(area, sum_of_squares(sums), inflation)


@njit(cache=True, nogil=True)
def _add(cell: Array, unit: Array, values: Floats, sums: Floats) -> None:
    """Add a value that the examples of a cell share to the sums of units."""
    for i in range(len(cell)):
        sums[unit[i]] += values[cell[i]]


@njit(cache=True, nogil=True)
def _add_tested(
    cell: Array,
    unit: Array,
    tested: Bools,
    own: Floats,
    spread: Floats,
    size: Array,
    owns: Floats,
    spreads: Floats,
) -> None:
    """Count the tested examples of units, and add up two values that those of a cell share."""
    for i in range(len(cell)):
        if tested[cell[i]]:
            size[unit[i]] += 1
            owns[unit[i]] += own[cell[i]]
            spreads[unit[i]] += spread[cell[i]]
