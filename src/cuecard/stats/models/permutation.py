"""Test of whether a model is right more often where a feature has its usual label (Stubborn 3.1, 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import gammaln, logsumexp

from cuecard.stats.arrays import Bools, Floats, Ints, Matrix
from cuecard.stats.cues.within_example import stratified_hypergeometric_log_p
from cuecard.stats.intervals import overlapping_difference
from cuecard.stats.models.weakness import checked_members, checked_truths
from cuecard.stats.multiple_testing import format_p

__all__ = ["FeaturePermutationTests", "PermutationResult", "permutation_test", "permutation_tests_by_feature"]

Reading: TypeAlias = Literal["union", "twice", "difference"]
Alternative: TypeAlias = Literal["greater", "two-sided"]

_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class PermutationResult:
    """Accuracy on instances with their usual label (U) and with another (N), and how surprising it is."""

    reading: Reading
    log10_p: float
    """Base-10 log of the p-value, exact also where the p-value is below the smallest float."""
    usual: int
    """|U|."""
    unusual: int
    """|N|."""
    pool: int
    """Size of what is shuffled: |U ∪ N|, or |U| + |N| when instances in both count twice."""
    usual_accuracy: float
    unusual_accuracy: float
    low: float
    high: float
    """95 % interval of the difference; instances in both sets are accounted for."""

    @property
    def p_value(self) -> float:
        """The p-value as a float: 0.0 below about 1e-323."""
        return float(10.0**self.log10_p)

    @property
    def difference(self) -> float:
        """Accuracy on U minus accuracy on N."""
        return self.usual_accuracy - self.unusual_accuracy

    @property
    def p_text(self) -> str:
        """The p-value for people, such as 0.031 or 4.2×10⁻⁷⁶²."""
        return format_p(self.log10_p)


@dataclass(frozen=True)
class FeaturePermutationTests:
    """One test per feature; all arrays follow the features."""

    log10_p: Floats
    usual: Ints
    unusual: Ints
    usual_accuracy: Floats
    unusual_accuracy: Floats


def permutation_test(
    correct: npt.ArrayLike,
    usual: npt.ArrayLike,
    unusual: npt.ArrayLike,
    *,
    strata: npt.ArrayLike | None = None,
    reading: Reading = "union",
    alternative: Alternative = "greater",
    guessing: npt.ArrayLike | None = None,
    draws: int = 10_000,
    seed: int = 0,
) -> PermutationResult:
    """Test that correctness is exchangeable between U (usual label) and the rest of U ∪ N.

    ``correct``, ``usual`` and ``unusual`` are one truth value per test instance; an instance may be in both
    sets. ``union`` shuffles correctness over U ∪ N: P(X ≥ k), X hypergeometric, in closed form. ``strata``
    (the gold labels, say) shuffles inside each stratum only, so a model that is merely better at one class
    is not called biased; the hypergeometric counts of the strata are convolved exactly. ``twice`` is the
    same with an instance of both sets counted twice. ``difference`` compares accuracy on U minus accuracy
    on N, which is not a function of the count in U once the sets overlap, by ``draws`` random shuffles.
    ``alternative``: U is right more often (``greater``, one-sided), or the two differ (``two-sided``: twice the
    smaller p-value of both directions, at most 1).
    ``guessing`` is how likely a model that guesses is right on each instance, above 0 and below 1, where it is not
    the same for all (the paper's footnote 1): every shuffle counts by its probability. For ``union`` without strata.

    >>> usual, unusual = [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]
    >>> follows = permutation_test([1, 1, 1, 1, 0, 0, 0, 1], usual, unusual)
    >>> follows.p_text, follows.difference
    ('0.071', 0.75)
    >>> permutation_test([0, 0, 0, 0, 1, 1, 1, 0], usual, unusual, alternative="two-sided").p_text
    '0.14'
    """
    right, in_usual, in_unusual = (
        checked_truths(values, name)
        for values, name in ((correct, "correct"), (usual, "usual"), (unusual, "unusual"))
    )
    if not right.shape == in_usual.shape == in_unusual.shape:
        raise ValueError(
            f"correct, usual and unusual must have one length, got {len(right)}, {len(in_usual)} "
            f"and {len(in_unusual)}."
        )
    if not in_usual.any() or not in_unusual.any():
        raise ValueError("the test needs at least one usual and one unusual instance.")
    layer = _layers(strata, len(right))
    chances = None if guessing is None else np.asarray(guessing, dtype=np.float64)
    if chances is not None and (chances.shape != right.shape or not ((chances > 0) & (chances < 1)).all()):
        raise ValueError("guessing must hold one probability above 0 and below 1 per instance.")
    if chances is not None and (reading != "union" or strata is not None):
        raise ValueError("guessing is for the reading 'union' without strata.")
    pool = int(np.sum(in_usual | in_unusual))
    if reading == "twice":
        pool = int(in_usual.sum() + in_unusual.sum())
    elif reading not in ("union", "difference"):
        raise ValueError(f"reading must be 'union', 'twice' or 'difference', not {reading!r}.")

    def upper_tail(outcome: Bools) -> float:
        if chances is not None:
            likely = chances if outcome is right else 1 - chances
            return _weighted_form(outcome, in_usual, in_unusual & ~in_usual, likely)
        if reading == "union":
            return _closed_form(outcome, in_usual, in_usual | in_unusual, layer)
        if reading == "difference":
            return _by_shuffling(outcome, in_usual, in_unusual, layer, draws, seed)
        twice = np.concatenate([np.flatnonzero(in_usual), np.flatnonzero(in_unusual)])
        first = np.arange(len(twice)) < in_usual.sum()
        return _closed_form(outcome[twice], first, np.ones(len(twice), dtype=bool), layer[twice])

    log_p = upper_tail(right)
    if alternative == "two-sided":
        # Few right answers in U are many wrong ones.
        log_p = min(0.0, float(np.log(2)) + min(log_p, upper_tail(~right)))
    low, high = overlapping_difference(right, in_usual, in_unusual)
    return PermutationResult(
        reading=reading,
        log10_p=log_p / _LN10,
        usual=int(in_usual.sum()),
        unusual=int(in_unusual.sum()),
        pool=pool,
        usual_accuracy=float(right[in_usual].mean()),
        unusual_accuracy=float(right[in_unusual].mean()),
        low=low,
        high=high,
    )


def permutation_tests_by_feature(
    correct: npt.ArrayLike, usual: Matrix, unusual: Matrix, *, strata: npt.ArrayLike | None = None
) -> FeaturePermutationTests:
    """``union`` test of each feature by itself.

    ``usual`` and ``unusual`` are instances × features, dense or sparse: the feature is there with its usual
    label, or with another. A feature with nothing to compare gets log10_p = 0.
    """
    right = checked_truths(correct, "correct")
    ours = checked_members(usual, len(right), "usual")
    others = checked_members(unusual, len(right), "unusual")
    if ours.shape != others.shape:
        raise ValueError(
            f"usual and unusual must have the same features, got {ours.shape} and {others.shape}."
        )
    layer = _layers(strata, len(right))
    either = (ours + others).astype(bool).astype(np.int64)
    member = sparse.csr_matrix((np.ones(len(right), dtype=np.int64), (layer, np.arange(len(right)))))
    hits = member.multiply(right[None, :].astype(np.int64)).tocsr()
    pool, pool_right = (member @ either).toarray(), (hits @ either).toarray()
    drawn, drawn_right = (member @ ours).toarray(), (hits @ ours).toarray()
    counts, unusual_counts = drawn.sum(axis=0), np.asarray(others.sum(axis=0)).ravel()
    log_p = stratified_hypergeometric_log_p(
        drawn_right.sum(axis=0), drawn.T, pool_right.T, pool.T, alternative="greater"
    )
    with np.errstate(invalid="ignore"):
        usual_accuracy = drawn_right.sum(axis=0) / counts
        unusual_accuracy = np.asarray(right.astype(np.int64) @ others).ravel() / unusual_counts
    return FeaturePermutationTests(log_p / _LN10, counts, unusual_counts, usual_accuracy, unusual_accuracy)


def _closed_form(right: Bools, drawn: Bools, pool: Bools, layer: Ints) -> float:
    """Log P(correct in U ≥ observed) when correctness is shuffled over the pool inside each layer."""
    layers = int(layer.max()) + 1

    def per_layer(mask: Bools) -> Ints:
        return np.bincount(layer[mask], minlength=layers).astype(np.int64)[None]

    log_p = stratified_hypergeometric_log_p(
        [np.sum(right & drawn)],
        per_layer(drawn),
        per_layer(pool & right),
        per_layer(pool),
        alternative="greater",
    )
    return float(log_p[0])


def _weighted_form(right: Bools, drawn: Bools, others: Bools, chances: Floats) -> float:
    """Log P(correct in U ≥ observed), given how many are correct in the pool and how likely each is by guessing."""
    inside, outside = (_log_counts(chances[part]) for part in (drawn, others))
    total, observed = int(np.sum(right & (drawn | others))), int(np.sum(right & drawn))
    possible = np.arange(max(0, total - len(outside) + 1), min(total, len(inside) - 1) + 1)
    logs = inside[possible] + outside[total - possible]
    return float(logsumexp(logs[possible >= observed]) - logsumexp(logs))


def _log_counts(chances: Floats) -> Floats:
    """Return the log of the probability of every number of successes; equal chances are one binomial."""
    logs = np.zeros(1)
    for chance, times in zip(*np.unique(chances, return_counts=True), strict=True):
        k = np.arange(times + 1)
        ways = gammaln(times + 1) - gammaln(k + 1) - gammaln(times - k + 1)
        more = ways + k * np.log(chance) + (times - k) * np.log1p(-chance)
        sums = np.full(len(logs) + times, -np.inf)
        for successes, log in enumerate(logs):
            reached = slice(successes, successes + times + 1)
            sums[reached] = np.logaddexp(sums[reached], log + more)
        logs = sums
    return logs


def _by_shuffling(right: Bools, usual: Bools, unusual: Bools, layer: Ints, draws: int, seed: int) -> float:
    """Log p of the difference of accuracies. A shuffle only moves how many correct fall in U, both and N."""
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}.")
    rng = np.random.default_rng(seed)
    gain = np.array([1 / usual.sum(), 1 / usual.sum() - 1 / unusual.sum(), -1 / unusual.sum()])
    kinds = np.stack([usual & ~unusual, usual & unusual, unusual & ~usual])
    shuffled = np.zeros(draws)
    for part in range(int(layer.max()) + 1):
        sizes = np.sum(kinds & (layer == part), axis=1)
        correct = int(np.sum(right & (usual | unusual) & (layer == part)))
        shuffled += rng.multivariate_hypergeometric(sizes, correct, size=draws, method="marginals") @ gain
    observed = float(np.sum(kinds & right, axis=1) @ gain)
    return float(np.log1p(np.sum(shuffled >= observed - 1e-12)) - np.log1p(draws))


def _layers(strata: npt.ArrayLike | None, rows: int) -> Ints:
    if strata is None:
        return np.zeros(rows, dtype=np.int64)
    values = np.asarray(strata)
    if values.shape != (rows,):
        raise ValueError(f"strata must hold one value per instance ({rows}), got shape {values.shape}.")
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
