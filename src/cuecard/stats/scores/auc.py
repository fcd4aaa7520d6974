"""Areas under ROC curves, and areas and score tests of examples that are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from cuecard.stats.arrays import Array, Bools, Floats, Ints, chunks, level_of
from cuecard.stats.scores.row_sums import (
    Cells,
    counted_moments,
    counted_score_sums,
    counted_unit_sums,
    label_sums,
    point_terms,
    relative_logs,
    sum_of_squares,
    unit_codes,
    weights_of,
)
from cuecard.stats.scores.score_test import (
    SMALLEST_PROBABILITY,
    Null,
    ScoreTest,
    counted_tails,
)

#: Scores this close are equal.
TIE = 1e-12
#: Fewer examples of the rarer label than this do not tell the variance of an area.
FEW = 25
#: How many examples rank wrong where their variance counts as much as the largest possible one, see `auc_interval`.
MISRANKED = 0.2
_EDGE = 1e-9
#: Times that the range of an interval's end is halved: as often as numbers between 0 and 1 have bits.
_HALVINGS = 53


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
    pairs ranked. The interval is made of what every example, or unit, adds (see `auc_interval`); `inflation` multiplies
    its variance (see `cross_fit_inflation`).

    >>> result = label_auc([[0.8, 0.2], [0.6, 0.4], [0.7, 0.3], [0.1, 0.9]] * 20, [0, 0, 1, 1] * 20)
    >>> round(result.value, 2), round(result.low, 2), round(result.high, 2)
    (0.75, 0.62, 0.84)
    """
    table = np.asarray(probabilities, np.float64)
    codes = np.asarray(labels, np.int64)
    n = len(codes)
    if table.ndim != 2 or len(table) != n:
        raise ValueError("probabilities must have one row per example and one column per label")
    weight = weights_of(weights)
    stratum, n_strata = unit_codes(strata, n)
    sums = label_sums(codes, stratum, weight, n_strata, table.shape[1])[1]
    shares, ranked = pair_shares(sums)
    labelled = sums.sum(axis=0)
    if not ranked:
        return Auc(float("nan"), 0.0, 1.0)
    area, influence = 0.0, np.zeros(n)
    for part in np.flatnonzero(shares.any(axis=1)):
        rows = np.flatnonzero(stratum == part)
        for label in np.flatnonzero(shares[part]):
            scores, share = table[rows, label], float(shares[part, label]) / ranked
            # Equal scores count the same in any order.
            order = np.argsort(scores)
            mass = np.broadcast_to(weight, n)[rows]
            part_area, deviations = ranked_area(scores, order, codes[rows] == label, mass, share)
            area += share * part_area
            influence[rows] += deviations
    present = (labelled / labelled.sum())[shares.any(axis=0)]
    return auc_interval(area, _squares(influence, units), _size(n, units, weights), present, inflation, level)


def ranked_area(
    scores: Floats, order: Ints, positive: Bools, mass: Floats, factor: float = 1.0
) -> tuple[float, Floats]:
    """Return the area under the ROC curve, and what every example adds to its deviation, `factor` times.

    `order` is that of rising scores; `mass` is how much every example counts. Scores within `TIE` are equal.
    """
    rising = np.flatnonzero(np.diff(scores[order], prepend=-np.inf) > TIE)
    tie = np.zeros(len(order), dtype=np.int64)
    tie[order] = np.repeat(np.arange(len(rising)), np.diff(rising, append=len(order)))
    above = np.bincount(tie, np.where(positive, mass, 0.0))
    below = np.bincount(tie, np.where(positive, 0.0, mass))
    positives, negatives = float(np.cumsum(mass[positive])[-1]), float(np.cumsum(mass[~positive])[-1])
    passed, before = (np.concatenate([[0.0], np.cumsum(part)[:-1]]) for part in (above, below))
    beaten = (before + below / 2) / negatives
    beating = (positives - passed - above / 2) / positives
    area = float(np.cumsum(above * beaten)[-1]) / positives
    scaled = factor * mass
    deviations = np.where(
        positive, scaled * (beaten[tie] - area) / positives, scaled * (beating[tie] - area) / negatives
    )
    return area, deviations


def pair_shares(sums: Floats) -> tuple[Floats, int]:
    """Return how much the area of a stratum counts for that of each label, and how many labels can be ranked.

    `sums` has the weight of every label in every stratum.
    """
    pairs = sums * (sums.sum(axis=1, keepdims=True) - sums)
    shares = np.divide(pairs, pairs.sum(axis=0), out=np.zeros_like(pairs), where=pairs > 0)
    return shares, int((pairs.sum(axis=0) > 0).sum())


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
    part = (np.asarray(probabilities, np.float64), np.asarray(gold, np.int64), np.asarray(sizes, np.int64))
    return choice_auc_in_parts([part], units=units, weights=weights, inflation=inflation, level=level)


def choice_auc_in_parts(
    parts: Iterable[tuple[Floats, Ints, Ints]],
    *,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    inflation: float = 1.0,
    level: float = 0.95,
) -> Auc:
    """Return `choice_auc` of examples that come in parts: probabilities, gold and sizes of each."""
    areas, several = [np.empty(0)], [np.empty(0, np.bool_)]
    for values, right, count in parts:
        starts = np.cumsum(count) - count
        best = np.repeat(values[starts + right], count)
        above = (values < best - 1e-12) + 0.5 * (np.abs(values - best) <= 1e-12)
        beaten = np.add.reduceat(above, starts) - 0.5 if len(count) else np.empty(0)
        several.append(count > 1)
        areas.append(np.where(count > 1, beaten / np.maximum(count - 1, 1), 0.0))
    area, ranked = np.concatenate(areas), np.concatenate(several)
    weight = np.ones(len(area)) if weights is None else np.asarray(weights, np.float64)
    if not (weight * ranked).sum() > 0:
        return Auc(float("nan"), 0.0, 1.0)
    mass = weight * ranked / (weight * ranked).sum()
    mean = float(mass @ area)
    squares = _squares(mass * (area - mean), units)
    return auc_interval(mean, squares, _size(len(area), units, weight * ranked), None, inflation, level)


def _size(n: int, units: npt.ArrayLike | None, weights: npt.ArrayLike | None) -> float:
    """Return how many independent examples that count the same there are (Kish)."""
    if units is None and weights is None:
        return float(n)
    mass: Floats = np.broadcast_to(weights_of(weights), n)
    if units is not None:
        codes, n_units = unit_codes(units, n)
        mass = np.bincount(codes, weights=mass, minlength=n_units).astype(np.float64)
    return float(mass.sum()) ** 2 / sum_of_squares(mass)


def _squares(influence: Floats, units: npt.ArrayLike | None) -> float:
    """Return the sum of the squares of what every example, or unit, adds."""
    if units is not None:
        codes, n = unit_codes(units, len(influence))
        sums = np.zeros(n)
        np.add.at(sums, codes, influence)
        influence = sums
    return sum_of_squares(influence)


def auc_interval(
    area: float,
    squares: float,
    size: float,
    shares: npt.ArrayLike | None = None,
    inflation: float = 1.0,
    level: float = 0.95,
) -> Auc:
    """Return an area with its interval, from the squares of what independent examples add to its deviation.

    The ends are the areas from which this one is z standard errors away. Their variance has the size that the examples
    tell, and the shape of Hanley and McNeil (1982). Few examples that rank wrong tell little, as near an area of 1, so
    the largest variance that ranks can have, area · (1 − area) / examples of the rarer label, is mixed in by how few
    these are; with fewer than `FEW` examples of the rarer label it stands alone.

    Args:
        area: the area.
        squares: its variance as estimated from the examples.
        size: how many independent examples there are.
        shares: the share of every ranked label; by default every example is ranked on its own, as a choice is.
        inflation: multiplies the variance (see `cross_fit_inflation`).
        level: of the interval.
    """
    z = float(ndtri((1 + level_of(level)) / 2))
    rarer = size
    if shares is not None:
        parts = np.minimum(shares, 1 - np.asarray(shares))
        rarer = size / float(np.mean(1 / np.sqrt(parts))) ** 2

    def shape(value: float) -> float:
        if shares is None:
            return value * (1 - value)
        others = size / 2 - 1
        spread = 1 + others * ((1 - value) / (2 - value) + value / (1 + value))
        return value * (1 - value) * max(spread, 1.0)

    inside = min(max(area, 0.5 / size), 1 - 0.5 / size)
    trust = 0.0
    if round(rarer, 6) >= FEW and 0 < area < 1:
        misranked = rarer * min(area, 1 - area)
        trust = misranked / (MISRANKED + misranked)

    def beyond(value: float) -> float:
        told = trust * squares * shape(value) / shape(inside)
        return (area - value) ** 2 - z**2 * inflation * (told + (1 - trust) * value * (1 - value) / rarer)

    low, high = (_end(beyond, min(max(area, _EDGE), 1 - _EDGE), edge) for edge in (_EDGE, 1 - _EDGE))
    return Auc(area, low if area > 0 else 0.0, high if area < 1 else 1.0)


def _end(beyond: Callable[[float], float], area: float, edge: float) -> float:
    """Return where between an area and the edge a difference becomes significant; the edge if it never does."""
    if beyond(edge) <= 0:
        return round(edge)
    if beyond(area) >= 0:
        return area
    inside, outside = area, edge
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if beyond(middle) < 0 else (inside, middle)
    return (inside + outside) / 2


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
    sums, members = np.zeros(n_units), np.zeros(n_units)
    for chunk in chunks(len(cell)):
        np.add.at(sums, unit[chunk], each[cell[chunk]])
        np.add.at(members, unit[chunk], mass[cell[chunk]] > 0)
    size = float(members.sum()) ** 2 / sum_of_squares(members)
    labelled = counts.sum(axis=(0, 1))
    present = (labelled / labelled.sum())[shares.any(axis=0)]
    return auc_interval(area, sum_of_squares(sums), size, present, inflation)
