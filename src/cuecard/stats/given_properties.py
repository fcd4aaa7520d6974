"""What features say about the right or preferred one once other properties, such as length, are held fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import log_ndtr

from cuecard.stats.arrays import Floats, Ints, Matrix
from cuecard.stats.cues.within_example import stratified_hypergeometric_log_p

__all__ = [
    "Choices",
    "GivenProperties",
    "PreferenceGiven",
    "choices_given",
    "features_given",
    "labels_given",
    "score_tests",
]

_NEWTON_STEPS = 50
#: Keeps coefficients finite where a property decides every example.
_PENALTY = 1e-2


@dataclass(frozen=True, eq=False)
class GivenProperties:
    """One entry per feature: z of its score test given the properties, and the natural log of the p-value."""

    z: Floats
    """Above 0: choices with the feature are right more often than the properties explain; nan where nothing is free."""
    log_p: Floats


def features_given(
    right: npt.ArrayLike,
    examples: npt.ArrayLike,
    properties: npt.ArrayLike,
    having: Matrix,
    *,
    units: npt.ArrayLike | None = None,
) -> GivenProperties:
    """Score test of every feature in a conditional logit of the right choice on some properties.

    Each example's right choice is drawn with odds exp(properties · β), β by maximum likelihood without the feature; the
    test asks whether right choices have the feature more, or less, often than that. `having` may be sparse with any
    number of features: nothing of its size is made dense.

    Args:
        right: whether each choice is the right one; one per example.
        examples: code of every choice's example; the choices of an example stand together.
        properties: choices × properties held fixed.
        having: choices × features, whether the choice has the feature.
        units: code of every choice that copies of an example share; the variance of the score is then at least that of
            sums over units.

    >>> right, examples = [1, 0] * 12, np.repeat(np.arange(12), 2)
    >>> result = features_given(right, examples, np.zeros((24, 1)), sparse.csr_matrix([[1, 0], [0, 1]] * 12))
    >>> result.z.round(2)
    array([ 3.46, -3.46])
    """
    chosen = np.asarray(right, dtype=np.float64)
    group = np.unique(np.asarray(examples), return_inverse=True)[1]
    x = np.asarray(properties, dtype=np.float64)
    z = sparse.csr_matrix(having, dtype=np.float64)
    if not len(chosen) == len(group) == len(x) == z.shape[0] or x.ndim != 2:
        raise ValueError("right, examples, properties and having must have one row per choice.")
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    if len(starts) != int(group.max(initial=-1)) + 1:
        raise ValueError("the choices of an example must stand together.")
    code = None if units is None else np.unique(np.asarray(units), return_inverse=True)[1]
    block = Choices(chosen, starts, x, code)
    return score_tests(lambda: iter([block]), [z], z.shape[1], None if code is None else np.bincount(code))


@dataclass(frozen=True, eq=False)
class Choices:
    """Some choices of whole examples: whether each is right, where examples start, properties, and codes of units."""

    right: Floats
    starts: Ints
    properties: Floats
    units: Ints | None = None

    def probabilities(self, beta: Floats) -> Floats:
        """Return how likely each choice is the right one of its example."""
        margin = self.properties @ beta
        odds = np.exp(margin - np.maximum.reduceat(margin, self.starts)[self.example])
        return np.asarray(odds / (self.of_example @ odds)[self.example])

    def centred(self, p: Floats) -> Floats:
        """Return the properties without their mean over the example."""
        means = self.of_example @ (p[:, None] * self.properties)
        return np.asarray(self.properties - means[self.example])

    @cached_property
    def example(self) -> Ints:
        """The number of every choice's example."""
        sizes = np.diff(np.append(self.starts, len(self.right)))
        return np.repeat(np.arange(len(self.starts)), sizes)

    @cached_property
    def of_example(self) -> sparse.csr_matrix:
        """Which choices (columns) every example has."""
        n = len(self.right)
        return sparse.csr_matrix((np.ones(n), (self.example, np.arange(n))))


def score_tests(
    choices: Callable[[], Iterator[Choices]],
    having: Iterable[sparse.csr_matrix],
    n_features: int,
    unit_sizes: Ints | None = None,
) -> GivenProperties:
    """Return what `features_given` does, of choices that memory holds a block of at a time.

    Args:
        choices: yields the blocks; called once for every step of the model.
        having: which features the choices of every block have, in the same order.
        n_features: the number of features.
        unit_sizes: how many choices every unit has in all blocks, by its code.
    """
    beta = _fitted(choices)
    size = len(beta)
    of_units = _UnitSums(n_features, size)
    spread, score = np.zeros(n_features), np.zeros(n_features)
    cross, curvature = np.zeros((size, n_features)), np.zeros((size, size))
    for block, present in zip(choices(), having, strict=True):
        p, z = block.probabilities(beta), present.astype(np.float64)
        inner, residual = block.centred(p), block.right - p
        weighted = z.multiply(p[:, None]).tocsr()
        # Σ p (z − z̄)² within examples, for features that are there or not.
        spread += _sums(weighted.multiply(z)) - _sums((block.of_example @ weighted).power(2))
        cross += np.asarray(weighted.T @ inner).T
        curvature += (inner * p[:, None]).T @ inner
        score += np.asarray(z.T @ residual).ravel()
        if block.units is not None and unit_sizes is not None:
            scores = z.multiply(residual[:, None]).tocsr()
            of_units.add(block.units, unit_sizes, scores, residual[:, None] * inner)
    taken = np.linalg.pinv(curvature) @ cross
    information = spread - (cross * taken).sum(axis=0)
    free = information > 1e-9 * np.maximum(spread, 1e-12)
    if unit_sizes is not None:
        information = np.maximum(information, of_units.squares(taken))
    score_z = np.where(free, score / np.sqrt(np.where(free, information, 1.0)), np.nan)
    return GivenProperties(score_z, np.minimum(np.log(2.0) + log_ndtr(-np.abs(score_z)), 0.0))


def _fitted(choices: Callable[[], Iterator[Choices]]) -> Floats:
    """Return the coefficients of the properties, by maximum likelihood."""
    size = next(choices()).properties.shape[1]
    beta = np.zeros(size)
    for _ in range(_NEWTON_STEPS):
        curvature, slope = _PENALTY * np.eye(size), -_PENALTY * beta
        for block in choices():
            p = block.probabilities(beta)
            inner = block.centred(p)
            curvature += (inner * p[:, None]).T @ inner
            slope += block.properties.T @ (block.right - p)
        step = np.linalg.solve(curvature, slope)
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    return beta


class _UnitSums:
    """Squares of the scores of units: at once where a block has all of a unit, and at the end where several have it."""

    def __init__(self, n_features: int, n_properties: int) -> None:
        self.own = np.zeros(n_features)
        self.together = np.zeros((n_properties, n_features))
        self.properties = np.zeros((n_properties, n_properties))
        self.left: list[tuple[Ints, sparse.csr_matrix, Floats]] = []

    def add(self, units: Ints, sizes: Ints, scores: sparse.csr_matrix, properties: Floats) -> None:
        """Add the scores and properties of a block's choices."""
        codes, place = np.unique(units, return_inverse=True)
        of_unit = sparse.csr_matrix((np.ones(len(units)), (place, np.arange(len(units)))))
        summed, of_properties = (of_unit @ scores).tocsr(), np.asarray(of_unit @ properties)
        whole = np.bincount(place) == sizes[codes]
        self._square(summed[whole], of_properties[whole])
        if not whole.all():
            self.left.append((codes[~whole], summed[~whole], of_properties[~whole]))

    def _square(self, scores: sparse.csr_matrix, properties: Floats) -> None:
        self.own += _sums(scores.power(2))
        self.together += np.asarray(scores.T @ properties).T
        self.properties += properties.T @ properties

    def squares(self, taken: Floats) -> Floats:
        """Return the sum of squares of every feature's scores, less what the properties explain."""
        if self.left:
            place = np.unique(np.concatenate([codes for codes, _, _ in self.left]), return_inverse=True)[1]
            of_unit = sparse.csr_matrix((np.ones(len(place)), (place, np.arange(len(place)))))
            scores = sparse.vstack([some for _, some, _ in self.left], format="csr")
            properties = np.concatenate([some for _, _, some in self.left])
            self._square((of_unit @ scores).tocsr(), np.asarray(of_unit @ properties))
            self.left = []
        explained = (taken * (self.properties @ taken)).sum(axis=0)
        return np.asarray(self.own - 2 * (taken * self.together).sum(axis=0) + explained)


def _sums(matrix: Matrix) -> Floats:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()


_LN10 = float(np.log(10.0))
#: Keeps coefficients finite where a model is always correct, or never picks the longest.


@dataclass(frozen=True)
class PreferenceGiven:
    """For every cue: which way the model leans with it, and the two-sided p-value, other properties held fixed."""

    excess: Floats
    """How much more often, per instance with the cue, than the rest explains the label is predicted; per example of
    which some but not all choices have it, the choice picked."""
    log10_p: Floats
    """Base-10 log of the p-value; nan where nothing could differ."""


def labels_given(
    predicted_label: npt.ArrayLike, strata: npt.ArrayLike, having: npt.ArrayLike
) -> PreferenceGiven:
    """Whether a label is predicted more often with a cue within strata, by an exact test for every cue.

    Args:
        predicted_label: instances × cues, whether the usual label of the cue is predicted.
        strata: code of every instance's stratum, such as gold label × length.
        having: instances × cues, whether the instance has the cue.

    Within a stratum the predictions are exchangeable if the cue does not matter, so a model that is merely better at
    one label, or follows the length, is in the null.

    >>> result = labels_given([[1], [1], [1], [0], [0], [0]], [0] * 6, [[1], [1], [1], [0], [0], [0]])
    >>> round(float(10 ** result.log10_p[0]), 3), float(result.excess[0])
    (0.1, 0.5)
    """
    hit, has = np.asarray(predicted_label, dtype=np.int64), np.asarray(having, dtype=np.int64)
    codes = np.unique(np.asarray(strata), return_inverse=True)[1]
    if hit.shape != has.shape or hit.ndim != 2 or len(codes) != len(hit):
        raise ValueError(
            "predicted_label and having must be instances × cues, and strata one code per instance."
        )
    number = int(codes.max(initial=-1)) + 1

    def per_stratum(values: Ints) -> Ints:
        table = np.zeros((number, values.shape[1]), dtype=np.int64)
        np.add.at(table, codes, values)
        return table.T

    size = np.broadcast_to(np.bincount(codes, minlength=number), (hit.shape[1], number)).astype(np.int64)
    drawn, marked, both = per_stratum(has), per_stratum(hit), per_stratum(hit * has)
    k = both.sum(axis=1)
    log_p = np.asarray(stratified_hypergeometric_log_p(k, drawn, marked, size)) / _LN10
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (drawn * marked / np.maximum(size, 1)).sum(axis=1)
        excess = (k - expected) / drawn.sum(axis=1)
    free = ((drawn > 0) & (drawn < size) & (marked > 0) & (marked < size)).any(axis=1)
    return PreferenceGiven(excess, np.where(free, np.minimum(log_p, 0.0), np.nan))


def choices_given(
    picked: npt.ArrayLike, examples: npt.ArrayLike, properties: npt.ArrayLike, having: Matrix
) -> PreferenceGiven:
    """Whether choices with a cue are picked more often than other properties explain (score test, conditional logit).

    Args:
        picked: whether each choice is the one picked; one per example.
        examples: code of every choice's example; the choices of an example are adjacent.
        properties: choices × properties held fixed, such as being right or the longest.
        having: choices × cues, whether the choice has the cue.

    Each example's pick is drawn with odds exp(properties · β), β by maximum likelihood; the test asks whether the picks
    have the cue more, or less, often than that.

    >>> result = choices_given([1, 0, 1, 0, 1, 0] * 4, np.repeat(np.arange(12), 2), np.zeros((24, 1)), [[1], [0]] * 12)
    >>> bool(10 ** result.log10_p[0] < 0.001), float(result.excess[0])
    (True, 0.5)
    """
    chosen = np.asarray(picked, dtype=np.float64)
    group = np.asarray(examples, dtype=np.int64)
    x, z = np.asarray(properties, dtype=np.float64), np.asarray(having, dtype=np.float64)
    if not len(chosen) == len(group) == len(x) == len(z) or x.ndim != 2 or z.ndim != 2:
        raise ValueError("picked, examples, properties and having must have one row per choice.")
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1 if len(group) else 0))
    index = np.cumsum(np.diff(group, prepend=group[0] if len(group) else 0) != 0)

    def centred(values: Floats, weight: Floats) -> Floats:
        return np.asarray(values - np.add.reduceat(weight[:, None] * values, starts, axis=0)[index])

    def probabilities(beta: Floats) -> Floats:
        odds = np.exp(x @ beta - np.maximum.reduceat(x @ beta, starts)[index])
        return np.asarray(odds / np.add.reduceat(odds, starts)[index])

    beta = np.zeros(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = probabilities(beta)
        inner = centred(x, p)
        slope = x.T @ (chosen - p) - _PENALTY * beta
        curvature = (inner * p[:, None]).T @ inner + _PENALTY * np.eye(x.shape[1])
        step = np.linalg.solve(curvature, slope)
        largest = float(np.abs(step).max(initial=0.0))
        beta = beta + step / max(1.0, largest)
        if largest < 1e-8:
            break
    p = probabilities(beta)
    inner, tested = centred(x, p), centred(z, p)
    curvature = (inner * p[:, None]).T @ inner + _PENALTY * np.eye(x.shape[1])
    cross = (inner * p[:, None]).T @ tested
    score = z.T @ (chosen - p)
    information = (p[:, None] * tested**2).sum(axis=0) - (cross * np.linalg.solve(curvature, cross)).sum(
        axis=0
    )
    spread = (p[:, None] * tested**2).sum(axis=0)
    # What the properties determine exactly leaves nothing to test.
    free = information > 1e-9 * np.maximum(spread, 1e-12)
    statistic = np.where(free, np.abs(score) / np.sqrt(np.where(free, information, 1.0)), np.nan)
    # Few examples leave little to estimate the properties' odds by, so tails are Student's: as normal ones in the log
    # (Wallace 1959), where they never underflow.
    estimated = int((np.abs(inner) > 1e-12).any(axis=0).sum())
    freedom = max(len(starts) - estimated - 1, 1)
    if estimated:
        statistic = (
            np.sqrt(freedom * np.log1p(statistic**2 / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
        )
    log_p = np.minimum((np.log(2.0) + log_ndtr(-statistic)) / _LN10, 0.0)
    differing = (np.maximum.reduceat(z, starts, axis=0) > np.minimum.reduceat(z, starts, axis=0)).sum(axis=0)
    return PreferenceGiven(score / np.maximum(differing, 1), np.where(free, log_p, np.nan))
