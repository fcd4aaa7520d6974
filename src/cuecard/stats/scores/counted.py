"""Score tests and areas of examples that are counted: those of one cell share their probabilities and their label.

Cells are by stratum, point and label. Only sums over units go through all examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints, chunks
from cuecard.stats.scores.auc import Auc, auc_interval, pair_shares, ranked_area
from cuecard.stats.scores.row_sums import (
    Cells,
    counted_moments,
    counted_score_sums,
    counted_unit_sums,
    point_terms,
    relative_logs,
)
from cuecard.stats.scores.score_test import (
    SMALLEST_PROBABILITY,
    Null,
    ScoreTest,
    counted_tails,
)
from cuecard.stats.scores.unit_codes import sum_of_squares, unit_codes

Array = npt.NDArray[Any]


def counted_score_tests(
    probabilities: Floats, counts: Ints, cell: Array, units: Sequence[npt.ArrayLike | None], *, seed: int = 0
) -> list[ScoreTest]:
    """Return `score_test` of counted examples for each of several kinds of units.

    Args:
        probabilities: of every label (the last axis), by stratum and point; nan where examples are not tested.
        counts: how many examples a stratum has at a point with each label.
        cell: of every example, its place in `counts`, all axes one after the other.
        units: see `score_test`.
        seed: see `score_test`.
    """
    tested = ~np.isnan(probabilities[..., 0])
    labels = (counts * tested[..., None]).sum(axis=1).astype(np.float64)
    n, points, k = int(labels.sum()), counts.shape[1], counts.shape[2]
    if not n:
        return [ScoreTest(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, "constant")] * len(units)
    table, known, sums = probabilities.reshape(-1, k), tested.ravel(), np.stack([labels] * 4)
    shares, sizes = labels.sum(axis=0) / labels.sum(), labels.sum(axis=1)
    cells = Cells(cell, known, points, k)
    logs = np.zeros_like(table)
    logs[known] = relative_logs(table[known], shares, SMALLEST_PROBABILITY)
    means = np.zeros_like(labels)
    score = counted_score_sums(cells, logs, means)
    filled = sizes > 0
    means[filled] /= sizes[filled, None]
    expected = float((means * labels).sum())
    own, second, cube = point_terms(cells, logs, means, sums)
    variance, third, squares = counted_moments(cells, second, cube, sizes)
    null = Null(n, expected, float(variance.sum()), float(third.sum()), squares)

    @cache
    def drawn_tails() -> tuple[float, float]:
        return counted_tails(gains(), score - expected, seed)

    def gains() -> Iterator[tuple[Floats, Ints]]:
        for i in np.flatnonzero(filled):
            there = tested[i] & counts[i].any(axis=1)
            left = logs.reshape(probabilities.shape)[i][there] - means[i]
            yield left - (left @ (labels[i] / sizes[i]))[:, None], counts[i][there]

    def test(of: npt.ArrayLike | None) -> ScoreTest:
        if of is None:
            return null.test(score, None, drawn_tails)
        unit, n_units = unit_codes(of, len(cell))
        by_unit = counted_unit_sums(cells, unit, own, second, n_units)
        return null.test(score, by_unit, drawn_tails)

    return [test(of) for of in units]


def counted_label_auc(
    probabilities: Floats, counts: Ints, cell: Array, units: npt.ArrayLike, *, inflation: float = 1.0
) -> Auc:
    """Return `label_auc` of counted examples; the arguments are those of `counted_score_tests`."""
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
            part_area, deviations = ranked_area(scores, order, codes[rows] == label, mass[rows], share)
            area += share * part_area
            influence[rows] += deviations
    each = np.divide(influence, mass, out=influence, where=mass > 0)
    unit, n_units = unit_codes(units, len(cell))
    sums = np.zeros(n_units)
    for some in chunks(len(cell)):
        np.add.at(sums, unit[some], each[cell[some]])
    return auc_interval(area, sum_of_squares(sums), inflation)
