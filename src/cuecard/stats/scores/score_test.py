"""Do predictions carry information about the labels? A test of their log score, which detects what hits cannot.

Where one label is common, the most likely label is the same for every example, and accuracy equals the majority however
much the probabilities vary with the label. The log score counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, stdtr

from cuecard.stats.arrays import Codes, Floats, Ints, counted
from cuecard.stats.scores.row_sums import (
    Examples,
    beside_others,
    label_sums,
    score_moments,
    score_sums,
    sum_of_squares,
    unit_codes,
    weights_of,
)

#: How many examples every unit has, and sums over them: of what they add to the score, and to its variance.
UnitSums = tuple[Codes, Floats, Floats]
#: Probabilities of choices, the place of the right one of every example, and how many each has.
Choices = tuple[Floats, Ints, Ints]
ScoreTestMethod = Literal["moments", "monte carlo", "units", "constant"]

#: A probability of nil would make one mistake outweigh everything else.
SMALLEST_PROBABILITY = 1e-3
#: With fewer effective examples than this, three moments do not describe the null distribution.
FEW = 8
DRAWS = 9_999
DRAWN_AT_ONCE = 2_000_000  # permuted values held in memory
#: To draw how often a point has a label takes as long as to permute about this many examples.
TABLE_COST = 20


@dataclass(frozen=True)
class ScoreTest:
    """A log score (nats) beside its distribution when predictions and labels have nothing to do with each other.

    `log_above` and `log_below` are natural logs of the one-sided p-values, `log_p` of the two-sided one. A score
    below its expectation comes from predictions that point the wrong way, which gives labels away as well.
    """

    score: float
    expected: float
    sd: float
    skewness: float
    log_above: float
    log_below: float
    method: ScoreTestMethod

    @property
    def log_p(self) -> float:
        """Natural log of the two-sided p-value: twice the smaller tail, at most 1."""
        return float(min(np.log(2) + min(self.log_above, self.log_below), 0.0))

    @property
    def z(self) -> float:
        """How many standard deviations of the null distribution the score is above its expectation."""
        return (self.score - self.expected) / self.sd if self.sd > 0 else 0.0


def score_test(
    probabilities: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    strata: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    seed: int = 0,
) -> ScoreTest:
    """Test whether the log score Σ w log p(label) is what the same predictions reach with permuted labels.

    Given predictions that do not depend on the labels of their own stratum (a test set, or a fold whose model learned
    from earlier folds), labels are exchangeable within the stratum where they are independent of the input. The
    score is a sum over a permutation, so its mean, variance and third moment are known in closed form (Hoeffding
    1951):

        E T = n r̄·q̄,   Var T = Σ_ij d_ij² / (n − 1),   E (T − E T)³ = n Σ_ij d_ij³ / ((n − 1)(n − 2))

    with d_ij = (r_i − r̄)·(q_j − q̄), r_i the log probabilities and q_j the indicator of a label. p-values come from a
    gamma distribution with these moments (Wilson and Hilferty's cube root), and from 9,999 permutations where few
    examples carry the variance. Where weights are present, pairs of label and weight are permuted.

    Args:
        probabilities: one row per example, one column per label.
        labels: the column of each example's label.
        strata: what labels are permuted within, such as folds.
        units: examples of one unit (copies of a text) are not independent: the variance then takes the sums of
            units where these vary more, and p-values come from Student's distribution.
        weights: how much each example counts.
        seed: of the permutations.

    >>> test = score_test([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]] * 10, [0, 0, 1, 1] * 10)
    >>> round(test.z, 2), test.method
    (5.45, 'moments')
    """
    table = _checked(probabilities)
    codes = np.asarray(labels, np.int64)
    n = len(codes)
    if table.ndim != 2 or len(table) != n:
        raise ValueError("probabilities must have one row per example and one column per label")
    if n and not 0 <= codes.min() <= codes.max() < table.shape[1]:
        raise ValueError("labels must be columns of probabilities")
    weight = weights_of(weights)
    if n and not weight.sum() > 0:
        raise ValueError("weights must not all be 0")
    if not n:
        return ScoreTest(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, "constant")
    strata_codes, n_strata = unit_codes(strata, n)
    sums = label_sums(codes, strata_codes, weight, n_strata, table.shape[1])
    # Relative to what an example would score with any label, so that a weight counts what is known of its own label.
    shares = sums[1].sum(axis=0) / sums[1].sum()
    examples = Examples(table, codes, strata_codes, weight, shares, SMALLEST_PROBABILITY)
    sizes, means = sums[0].sum(axis=1), np.zeros((n_strata, table.shape[1]))
    score = score_sums(examples, means)
    filled = sizes > 0
    means[filled] /= sizes[filled, None]
    expected = float((means * sums[1]).sum())
    unit, n_units = unit_codes(units, n)
    own, spread = np.zeros(n_units), np.zeros(n_units)
    variance, third, squares = score_moments(examples, means, sums, unit, own, spread)

    def drawn_tails() -> tuple[float, float]:
        parts = _deviations(table, codes, np.broadcast_to(weight, n), shares, strata_codes)
        return _permuted_tails(parts, score - expected, seed)

    null = Null(n, expected, float(variance.sum()), float(third.sum()), squares)
    if units is None:
        return null.test(score, None, drawn_tails)
    return null.test(score, (counted(unit, n_units), own, spread), drawn_tails)


def _deviations(
    table: Floats, codes: Ints, weight: Floats, shares: Floats, strata: Codes
) -> Iterator[tuple[Floats, Floats]]:
    """Yield what every example of a stratum scores with every label, and its own label, beyond their means."""
    for rows in _rows_of(strata):
        logs = np.log(np.maximum(table[rows], SMALLEST_PROBABILITY))
        logs -= (logs @ shares)[:, None]
        marks = np.zeros_like(logs)
        marks[np.arange(len(rows)), codes[rows]] = weight[rows]
        yield logs - logs.mean(axis=0), marks - marks.mean(axis=0)


def choice_score_test(
    probabilities: npt.ArrayLike,
    gold: npt.ArrayLike,
    sizes: npt.ArrayLike,
    *,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    seed: int = 0,
) -> ScoreTest:
    """Test the log score of predictions over the choices of each example, when every choice is as likely as another.

    Args:
        probabilities: of all choices, those of an example one after the other.
        gold: the place of each example's right choice among its own.
        sizes: how many choices each example has.
        units: see `score_test`.
        weights: how much each example counts.
        seed: of the draws where few examples carry the variance.

    >>> test = choice_score_test([0.6, 0.4, 0.7, 0.3, 0.2, 0.8] * 20, [0, 0, 1] * 20, [2] * 60)
    >>> round(test.z, 2), test.method
    (7.05, 'moments')
    """
    values = _checked(probabilities)
    count, right = np.asarray(sizes, np.int64), np.asarray(gold, np.int64)
    n = len(count)
    if values.shape != (count.sum(),) or right.shape != (n,) or (right < 0).any() or (right >= count).any():
        raise ValueError(
            "probabilities must have a value per choice, gold the place of one choice per example"
        )
    return choice_score_test_in_parts(
        lambda: [(values, right, count)], units=units, weights=weights, seed=seed
    )


def choice_score_test_in_parts(
    parts: Callable[[], Iterable[Choices]],
    *,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    seed: int = 0,
) -> ScoreTest:
    """Return `choice_score_test` of examples that come in parts: probabilities, gold and sizes of each."""
    mass = None if weights is None else np.asarray(weights, np.float64)
    terms = [[np.empty(0)] * 4, *([*each[:4]] for each in _choice_terms(parts(), mass))]
    own, spread, cubes, even = (np.concatenate(each) for each in zip(*terms, strict=True))
    if not len(own):
        return ScoreTest(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, "constant")
    expected = float(even.sum())
    score = expected + float(own.sum())

    def drawn_tails() -> tuple[float, float]:
        generator = np.random.default_rng(seed)
        drawn = np.zeros(DRAWS)
        for *_, centred, sizes, weight in _choice_terms(parts(), mass):
            for start, size, one in zip(np.cumsum(sizes) - sizes, sizes, weight, strict=True):
                drawn += one * centred[start + generator.integers(size, size=DRAWS)]
        return _shares(drawn, float(own.sum()))

    null = Null(len(own), expected, float(spread.sum()), float(cubes.sum()), float((spread**2).sum()))
    if units is None:
        return null.test(score, None, drawn_tails)
    unit, n_units = unit_codes(units, len(own))
    sums: list[Floats] = [np.bincount(unit, part, n_units).astype(np.float64) for part in (own, spread)]
    return null.test(score, (counted(unit, n_units), sums[0], sums[1]), drawn_tails)


def _choice_terms(
    parts: Iterable[Choices], mass: Floats | None
) -> Iterator[tuple[Floats, Floats, Floats, Floats, Floats, Ints, Floats]]:
    """Yield what examples add to the score, its variance, third moment and expectation, of every part.

    With it come the logs of choices beyond the mean of their example, and sizes and weights of examples.
    """
    done = 0
    for values, right, count in parts:
        logs = np.log(np.maximum(values, SMALLEST_PROBABILITY))
        weight = np.ones(len(count)) if mass is None else mass[done : done + len(count)]
        done += len(count)
        starts = np.cumsum(count) - count
        centred = logs - np.repeat(np.add.reduceat(logs, starts) / count, count)
        own = weight * centred[starts + right]
        spread = weight**2 * np.add.reduceat(centred**2, starts) / count
        cubes = weight**3 * np.add.reduceat(centred**3, starts) / count
        yield own, spread, cubes, weight * np.add.reduceat(logs, starts) / count, centred, count, weight


def _checked(probabilities: npt.ArrayLike) -> Floats:
    """Return probabilities that are all numbers."""
    values = np.asarray(probabilities, np.float64)
    if np.isnan(values).any():
        raise ValueError("probabilities must be numbers, found nan")
    return values


@dataclass(frozen=True)
class Null:
    """Moments of the score of n examples under the null, and the sum of the squared variances of examples."""

    n: int
    expected: float
    variance: float
    third: float
    squares: float

    def test(
        self, score: float, units: UnitSums | None, drawn_tails: Callable[[], tuple[float, float]]
    ) -> ScoreTest:
        """Return the test of a score: by units where they differ from examples, drawn where examples are few."""
        expected, variance = self.expected, self.variance
        if variance <= 1e-18 * max(self.n, 1):
            return ScoreTest(score, expected, 0.0, 0.0, 0.0, 0.0, "constant")
        if units is not None:
            grouped = self._by_units(score, *units)
            if grouped is not None:
                return grouped
        skewness = self.third / variance**1.5
        # How many equal terms vary as much as these: (Σv)² / Σv².
        if few := variance**2 < FEW * self.squares:
            above, below = drawn_tails()
        else:
            above, below = _gamma_tails((score - expected) / variance**0.5, skewness)
        method: ScoreTestMethod = "monte carlo" if few else "moments"
        return ScoreTest(score, expected, variance**0.5, skewness, above, below, method)

    def _by_units(self, score: float, size: Codes, own: Floats, spread: Floats) -> ScoreTest | None:
        """Return the test by sums of units; None where every example is a unit of its own.

        A unit of m examples of variance v each has the variance m v (1 + (m − 1) ρ). The correlation ρ within units,
        from 0 (independent) to 1 (they rise and fall together), follows from the sums that were seen. Only this part of
        the variance is estimated; Satterthwaite's degrees of freedom say from how much.
        """
        if size.max(initial=0) < 2:
            return None
        several = np.flatnonzero(size > 1)
        gain, size = (score - self.expected) / self.n, size[several]
        # The mean of few units is their own; the null is told from what they share by its own expectation alone.
        few = self.n**2 < FEW * (sum_of_squares(size) + self.n - int(size.sum()))
        sums = own[several] if few else beside_others(own[several] - gain * size, size, self.n)
        alone, more = spread[several], size - 1
        room = float((alone * more).sum())
        correlation = (
            min(max((float((sums**2).sum()) - float(alone.sum())) / room, 0.0), 1.0) if room > 0 else 0.0
        )
        estimated = alone * (1 + correlation * more)
        variance = self.variance - float(alone.sum()) + float(estimated.sum())
        degrees = max(variance**2 / float((estimated**2).sum()), 1.0) if room > 0 else np.inf
        z = (score - self.expected) / variance**0.5
        with np.errstate(divide="ignore"):  # a tail too small for a double
            above, below = float(np.log(stdtr(degrees, -z))), float(np.log(stdtr(degrees, z)))
        return ScoreTest(score, self.expected, variance**0.5, 0.0, above, below, "units")


def _gamma_tails(z: float, skewness: float) -> tuple[float, float]:
    """Return the logs of the upper and lower tail at z of a gamma distribution with mean 0, variance 1 and a skewness.

    Wilson and Hilferty: the cube root of a gamma variable is nearly normal. Without skewness it is the normal tail.
    """
    if abs(skewness) > 1e-6:
        z = 6 / skewness * (float(np.cbrt(1 + skewness * z / 2)) - 1) + skewness / 6
    return float(log_ndtr(-z)), float(log_ndtr(z))


def _permuted_tails(parts: Iterable[tuple[Floats, Floats]], seen: float, seed: int) -> tuple[float, float]:
    """Return the logs of both tails at `seen` of scores of permuted labels, from the deviations of every stratum."""
    generator = np.random.default_rng(seed)
    drawn = np.zeros(DRAWS)
    for left, right in parts:
        # Row u with the label of row v, looked up by distinct labels.
        distinct, label = np.unique(right, axis=0, return_inverse=True)
        _add_permuted(left @ distinct.T, label.ravel(), generator, drawn)
    return _shares(drawn, seen)


def counted_tails(
    parts: Iterable[tuple[Floats, npt.NDArray[np.int64]]], seen: float, seed: int
) -> tuple[float, float]:
    """Return what `_permuted_tails` returns for examples that are counted.

    A stratum has what an example of each of its points gains with each label, and how many examples of a point have
    each label. Permuted labels make a table of counts with the same sums by point and by label: where examples are many
    times as many as the points that differ, the table is drawn, point by point.
    """
    generator = np.random.default_rng(seed)
    drawn = np.zeros(DRAWS)
    for gain, counts in parts:
        points, place = np.unique(gain, axis=0, return_inverse=True)
        sizes = np.bincount(place.ravel(), counts.sum(axis=1), len(points)).astype(np.int64)
        labels = counts.sum(axis=0)
        if sizes.sum() > TABLE_COST * points.size:
            _add_tables(points, sizes, labels, generator, drawn)
        else:
            each = np.repeat(points, sizes, axis=0)
            _add_permuted(each, np.repeat(np.arange(len(labels)), labels), generator, drawn)
    return _shares(drawn, seen)


def _add_permuted(
    gain: Floats, label: npt.NDArray[np.int64], generator: np.random.Generator, drawn: Floats
) -> None:
    """Add to every draw what examples gain with permuted labels; `gain` has a row per example, a column per label."""
    n = len(gain)
    step = max(1, DRAWN_AT_ONCE // max(n, 1))
    for start in range(0, len(drawn), step):
        count = min(step, len(drawn) - start)
        order = generator.permuted(np.broadcast_to(label, (count, n)), axis=1)
        drawn[start : start + count] += gain[np.arange(n), order].sum(axis=1)


def _add_tables(
    gain: Floats,
    sizes: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    generator: np.random.Generator,
    drawn: Floats,
) -> None:
    """Add to every draw what examples of points of these sizes gain with labels that are dealt out at random."""
    left = np.broadcast_to(labels, (len(drawn), len(labels))).copy()
    order = np.argsort(sizes, kind="stable")
    for point in order[:-1]:
        missing = np.full(len(drawn), sizes[point])
        for label in range(len(labels) - 1):
            others = left[:, label + 1 :].sum(axis=1)
            got = generator.hypergeometric(left[:, label], others, missing)
            left[:, label] -= got
            missing -= got
            drawn += gain[point, label] * got
        left[:, -1] -= missing
        drawn += gain[point, -1] * missing
    drawn += left @ gain[order[-1]]


def _shares(drawn: Floats, seen: float) -> tuple[float, float]:
    """Return the logs of the shares of draws, the observed one included, at least and at most as large as that."""
    tie = 1e-9 * max(1.0, float(np.abs(drawn).max()))
    above, below = int((drawn >= seen - tie).sum()), int((drawn <= seen + tie).sum())
    return float(np.log((1 + above) / (1 + len(drawn)))), float(np.log((1 + below) / (1 + len(drawn))))


def _rows_of(codes: Codes) -> list[Ints]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
