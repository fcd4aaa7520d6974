"""How well probabilities rank the right answer: areas under ROC curves with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, ndtri

from cuecard.stats._arrays import level_of
from cuecard.stats.arrays import Floats, Ints


@dataclass(frozen=True)
class Auc:
    """An area under the ROC curve with its interval; nan where nothing can be ranked."""

    value: float
    low: float
    high: float


def label_auc(
    probabilities: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    strata: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    inflation: float = 1.0,
    level: float = 0.95,
) -> Auc:
    """Mean over the labels of the area under the ROC curve of one label against the rest.

    Areas are taken within strata (folds), whose probabilities come from one model each, and averaged by the number of
    pairs ranked. The interval is DeLong's on the logit scale, from what every example, or unit, adds; `inflation`
    multiplies its variance (see `cross_fit_inflation`).

    >>> result = label_auc([[0.8, 0.2], [0.6, 0.4], [0.7, 0.3], [0.1, 0.9]] * 20, [0, 0, 1, 1] * 20)
    >>> round(result.value, 2), round(result.low, 2), round(result.high, 2)
    (0.75, 0.63, 0.84)
    """
    table = np.asarray(probabilities, np.float64)
    codes = np.asarray(labels, np.int64)
    n = len(codes)
    if table.ndim != 2 or len(table) != n:
        raise ValueError("probabilities must have one row per example and one column per label")
    weight = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    stratum = np.zeros(n, np.int64) if strata is None else np.unique(strata, return_inverse=True)[1]
    areas, influence = [], np.zeros(n)
    for label in range(table.shape[1]):
        positive = codes == label
        cells = []
        for part in range(int(stratum.max(initial=-1)) + 1):
            rows = np.flatnonzero(stratum == part)
            mass = weight[rows]
            pairs = mass[positive[rows]].sum() * mass[~positive[rows]].sum()
            if pairs > 0:
                cells.append((rows, pairs, *_area(table[rows, label], positive[rows], mass)))
        if cells:
            total = sum(cell[1] for cell in cells)
            areas.append(sum(pairs / total * area for _, pairs, area, _ in cells))
            for rows, pairs, _, added in cells:
                influence[rows] += pairs / total * added
    if not areas:
        return Auc(float("nan"), 0.0, 1.0)
    return _interval(float(np.mean(areas)), influence / len(areas), units, inflation, level)


def choice_auc(
    probabilities: npt.ArrayLike,
    gold: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    inflation: float = 1.0,
    level: float = 0.95,
) -> Auc:
    """How often the right choice of an example ranks above a wrong one, ties counted half; 0.5 by chance.

    >>> result = choice_auc([0.6, 0.4, 0.3, 0.7] * 30, [0, 0] * 30, [2] * 60)
    >>> round(result.value, 2), round(result.low, 2), round(result.high, 2)
    (0.5, 0.38, 0.62)
    """
    values = np.asarray(probabilities, np.float64)
    count, right = np.asarray(sizes, np.int64), np.asarray(gold, np.int64)
    weight = np.ones(len(count)) if weights is None else np.asarray(weights, np.float64)
    ranked = count > 1
    if not (weight * ranked).sum() > 0:
        return Auc(float("nan"), 0.0, 1.0)
    starts = np.cumsum(count) - count
    best = np.repeat(values[starts + right], count)
    beaten = np.add.reduceat((values < best - 1e-12) + 0.5 * (np.abs(values - best) <= 1e-12), starts) - 0.5
    area = np.where(ranked, beaten / np.maximum(count - 1, 1), 0.0)
    mass = weight * ranked / (weight * ranked).sum()
    mean = float(mass @ area)
    return _interval(mean, mass * (area - mean), units, inflation, level)


def _area(scores: Floats, positive: npt.NDArray[np.bool_], weight: Floats) -> tuple[float, Floats]:
    """Return the area, and what every example adds to its deviation (DeLong's placements)."""
    order = np.argsort(scores, kind="stable")
    ranked, mass, is_positive = scores[order], weight[order], positive[order]
    first = np.flatnonzero(np.append(True, np.diff(ranked) > 1e-12))
    group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(ranked))))
    sums = [np.bincount(group, mass * kind) for kind in (is_positive, ~is_positive)]
    positives, negatives = (float(s.sum()) for s in sums)
    below = ((np.cumsum(sums[1]) - sums[1] / 2) / negatives)[group]  # share of negatives under a positive
    above = ((positives - np.cumsum(sums[0]) + sums[0] / 2) / positives)[group]
    area = float((mass * is_positive * below).sum() / positives)
    added = np.where(is_positive, mass * (below - area) / positives, mass * (above - area) / negatives)
    back = np.empty_like(added)
    back[order] = added
    return area, back


def _interval(
    area: float, influence: Floats, units: npt.ArrayLike | None, inflation: float, level: float
) -> Auc:
    z = float(ndtri((1 + level_of(level)) / 2))
    if units is not None:
        codes: Ints = np.unique(np.asarray(units), return_inverse=True)[1]
        influence = np.asarray(np.bincount(codes, influence), np.float64)
    sd = float(np.sqrt(inflation * (influence**2).sum()))
    if not 0 < area < 1:
        return Auc(area, max(area - z * sd, 0.0), min(area + z * sd, 1.0))
    half = z * sd / (area * (1 - area))
    return Auc(area, float(expit(logit(area) - half)), float(expit(logit(area) + half)))
