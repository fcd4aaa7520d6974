"""Two models on the same test set, and the design effect of examples that share a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import chdtrc, chdtri, gammaln, log_ndtr, ndtri_exp, stdtr, stdtrit

from cuecard.stats.arrays import Floats, Ints, Matrix
from cuecard.stats.models.weakness import checked_members, checked_truths

__all__ = [
    "PairedByCue",
    "PairedResult",
    "RelianceChange",
    "deflated_log10_p",
    "deflated_tail",
    "design_effects",
    "intraclass_correlation",
    "paired_by_cue",
    "paired_comparison",
    "reliance_change",
    "two_sided_design_effects",
    "widened",
]


_LN10 = float(np.log(10.0))
#: Contrasts held in memory at a time.
_CHUNK = 32


def intraclass_correlation(residuals: npt.ArrayLike, units: npt.ArrayLike) -> float:
    """Upper bound of the correlation of residuals within units, from 0 to 1.

    The mean product of two residuals of one unit over the mean square, raised to the upper end of its 95 % interval
    over units (Student): few units cannot show that their members are independent. 0 where no unit has several members,
    1 where only one has. Residuals may have a column per variable, 0 for examples without it: one correlation of all.

    >>> intraclass_correlation([1, 1, -1, -1], [0, 0, 1, 1])
    1.0
    >>> intraclass_correlation([1, -1, 1, -1], [0, 1, 2, 3])
    0.0
    """
    r = (
        residuals
        if sparse.issparse(residuals)
        else sparse.csr_matrix(np.asarray(residuals, dtype=np.float64).T).T
    )
    r = sparse.csr_matrix(r)
    member = _members(units)
    present = r.copy()
    present.data = np.ones_like(present.data)
    counts, square = (member @ present), r.multiply(r)
    pairs = np.asarray((counts.multiply(counts) - counts).sum(axis=1)).ravel()
    several = int(np.count_nonzero(pairs))
    total = float(square.sum())
    if not several or not total:
        return 0.0
    if several == 1:
        return 1.0
    sums = member @ r
    products = np.asarray((sums.multiply(sums) - member @ square).sum(axis=1)).ravel()
    mean = float(products.sum() / pairs.sum())
    error = float(np.sqrt(((products - mean * pairs) ** 2).sum()) / pairs.sum())
    bound = (mean + float(stdtrit(several - 1, 0.975)) * error) / (total / present.nnz)
    return float(np.clip(bound, 0.0, 1.0))


def design_effects(residuals: npt.ArrayLike, contrasts: Matrix, kinds: Sequence[npt.ArrayLike]) -> Floats:
    """How many times the variance of Σ a_i x_i is that of independent x, for every column a of `contrasts`; 1 or more.

    1 + Σ over kinds of ρ · (Σ_c (Σ_{i∈c} a_i)² − Σ a_i²) / Σ a_i², where ρ is the intraclass correlation of the kind. A
    contrast between members of one unit does not count as more certain than one between independent examples.

    Args:
        residuals: outcome of every example less its expectation, such as correctness less that of its label.
        contrasts: examples × contrasts, dense or sparse.
        kinds: codes of the units, one array per kind, such as pairs with the same premise and with the same hypothesis.

    >>> design_effects([1, 1, -1, -1], np.full((4, 1), 0.25), [[0, 0, 1, 1]])  # two units of two
    array([2.])
    """
    effects = np.ones(contrasts.shape[1])
    for codes in kinds:
        effects += intraclass_correlation(residuals, codes) * _pairs_within(contrasts, codes)
    return effects


def two_sided_design_effects(
    outcome: npt.ArrayLike, contrasts: Matrix, kinds: Sequence[npt.ArrayLike]
) -> Floats:
    """The same where units can push the two sides of a contrast in opposite directions.

    A model that answers all pairs with a hypothesis alike has accuracy 1 on those with one label and 0 on the others:
    its correctness does not correlate within hypotheses, and the difference between the two groups varies all the more.
    So ρ is that of the deviations from the mean of each side, over all contrasts; those of the negative side have their
    sign turned.

    >>> two_sided_design_effects([1, 0, 0, 1], np.array([[0.5], [-0.5], [0.5], [-0.5]]), [[0, 0, 1, 1]])
    array([2.])
    """
    x, a = np.asarray(outcome, dtype=np.float64), sparse.csc_matrix(contrasts, dtype=np.float64)
    size, turned = abs(a), a.copy()
    column, side = np.repeat(np.arange(a.shape[1]), np.diff(a.indptr)), (a.data > 0).astype(np.int64)
    cell = 2 * column + side
    means = np.bincount(cell, weights=x[a.indices]) / np.maximum(np.bincount(cell), 1)
    turned.data = np.sign(a.data) * (x[a.indices] - means[cell])
    return design_effects(turned, size, kinds)


def _members(units: npt.ArrayLike) -> sparse.csr_matrix:
    """Return units × examples."""
    codes = np.asarray(units, dtype=np.int64)
    return sparse.csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))))


def _pairs_within(contrasts: Matrix, units: npt.ArrayLike) -> Floats:
    """Return Σ a_i a_j over pairs of one unit by Σ a_i², for every contrast; 0 or more."""
    member, columns = _members(units), contrasts.shape[1]
    more = np.zeros(columns)
    for start in range(0, columns, _CHUNK):
        part = contrasts[:, start : start + _CHUNK]
        part = np.asarray(part.todense()) if sparse.issparse(part) else np.asarray(part, dtype=np.float64)
        alone = (part**2).sum(axis=0)
        together = ((member @ part) ** 2).sum(axis=0)
        more[start : start + _CHUNK] = (together - alone) / np.where(alone > 0, alone, 1.0)
    return np.maximum(more, 0.0)


def deflated_log10_p(log10_p: npt.ArrayLike, effects: npt.ArrayLike, *, sides: int = 2) -> Floats:
    """Base-10 logs of p-values whose normal quantile is divided by the root of a design effect; nan stays nan.

    >>> float(np.round(10 ** deflated_log10_p(np.log10(0.05), 4.0), 3))  # z = 1.96 becomes 0.98
    0.327
    """
    log_p, effect = np.asarray(log10_p, dtype=np.float64), np.asarray(effects, dtype=np.float64)
    extra = np.log(float(sides))
    with np.errstate(invalid="ignore"):
        z = -ndtri_exp(np.minimum(log_p * _LN10, 0.0) - extra)
        smaller = (extra + log_ndtr(-z / np.sqrt(effect))) / _LN10
    # An effect of one leaves every digit as it is, also beyond what quantiles can hold.
    return np.asarray(np.where(effect > 1, np.minimum(smaller, 0.0), log_p))


def deflated_tail(log10_p: float, effect: float, freedom: int) -> float:
    """Base-10 log of a p-value whose χ² quantile with these degrees of freedom is divided by a design effect."""
    if effect <= 1:
        return log10_p
    return float(np.log10(max(chdtrc(freedom, chdtri(freedom, 10.0**log10_p) / effect), 1e-300)))


def widened(value: npt.ArrayLike, end: npt.ArrayLike, effects: npt.ArrayLike) -> Floats:
    """The end of an interval, moved away from the value by the root of a design effect.

    >>> float(widened(0.5, 0.4, 4.0).round(3))
    0.3
    """
    middle = np.asarray(value, dtype=np.float64)
    return np.asarray(middle + (np.asarray(end, dtype=np.float64) - middle) * np.sqrt(effects))


@dataclass(frozen=True)
class PairedResult:
    """Accuracy of model A minus accuracy of model B on the same instances."""

    n: int
    only_a: int
    """Instances that only A has right."""
    only_b: int
    accuracy_a: float
    accuracy_b: float
    difference: float
    low: float
    high: float
    log10_p: float
    """Base-10 log of the exact two-sided McNemar p-value."""

    @property
    def p_value(self) -> float:
        """The exact two-sided McNemar p-value."""
        return float(10.0**self.log10_p)


@dataclass(frozen=True)
class PairedByCue:
    """Paired comparisons within the instances of every cue; arrays follow the cues."""

    n: Ints
    only_a: Ints
    only_b: Ints
    difference: Floats
    low: Floats
    high: Floats
    log10_p: Floats


def paired_comparison(
    correct_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> PairedResult:
    """Exact McNemar test and percentile bootstrap interval of the difference in accuracy.

    Only the instances on which exactly one model is right tell them apart: under the null each falls to
    either side with probability one half. A resample of instances is a multinomial draw of the three kinds.
    """
    a, b = _checked(correct_a, correct_b)
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    n, first, second = np.array([[len(a)], [only_a], [only_b]])
    low, high = _bootstrap(n, first, second, confidence, draws, seed)
    return PairedResult(
        n=len(a),
        only_a=only_a,
        only_b=only_b,
        accuracy_a=float(a.mean()),
        accuracy_b=float(b.mean()),
        difference=(only_a - only_b) / len(a),
        low=float(low[0]),
        high=float(high[0]),
        log10_p=mcnemar_log_p(only_a, only_b) / _LN10,
    )


def paired_by_cue(
    correct_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    has_cue: Matrix,
    *,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> PairedByCue:
    """Comparison within the instances of each cue (``has_cue``: instances × cues, dense or sparse)."""
    a, b = _checked(correct_a, correct_b)
    member = checked_members(has_cue, len(a), "has_cue")
    n = np.asarray(member.sum(axis=0)).ravel()
    only_a, only_b = (np.asarray(side.astype(np.int64) @ member).ravel() for side in (a & ~b, b & ~a))
    low, high = _bootstrap(n, only_a, only_b, confidence, draws, seed)
    with np.errstate(invalid="ignore"):
        difference = (only_a - only_b) / n
    log_p = [mcnemar_log_p(int(x), int(y)) for x, y in zip(only_a, only_b, strict=True)]
    return PairedByCue(n, only_a, only_b, difference, low, high, np.array(log_p) / _LN10)


#: Examples that a cue needs with its usual label, and with another.
FEWEST_TO_COMPARE = 5


@dataclass(frozen=True)
class RelianceChange:
    """By how much model B relies on each cue more than model A (less if below zero); arrays follow the cues.

    Reliance is the accuracy where a cue has its usual label minus that where it has another. Nan where a cue has too
    few examples of either kind.
    """

    change: Floats
    low: Floats
    high: Floats
    log10_p: Floats


def reliance_change(
    correct_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    usual: Matrix,
    unusual: Matrix,
    *,
    strata: npt.ArrayLike | None = None,
    effects: npt.ArrayLike = 1.0,
) -> RelianceChange:
    """Compare how much two models rely on cues, on the same examples: Welch's test of paired differences.

    Args:
        correct_a: whether model A is right, per example.
        correct_b: the same of model B.
        usual: examples × cues, which have the cue with its usual label.
        unusual: the same with another label.
        strata: right answers; what changes for all examples of an answer is not a change of reliance on a cue.
        effects: design effects of examples that share texts, per cue.

    >>> usual = np.repeat([[1], [0]], 50, axis=0)
    >>> a, b = np.ones(100), np.repeat([0, 1], 50)  # B is wrong where the cue has its usual label
    >>> float(reliance_change(a, b, usual, 1 - usual).change[0])
    -1.0
    """
    a, b = _checked(correct_a, correct_b)
    gained = b.astype(np.float64) - a
    if strata is not None:
        codes = np.unique(np.asarray(strata), return_inverse=True)[1].ravel()
        gained -= (np.bincount(codes, weights=gained) / np.bincount(codes))[codes]
    means, variances, sizes = [], [], []
    for members in (usual, unusual):
        member = checked_members(members, len(a), "usual or unusual")
        n = np.asarray(member.sum(axis=0), dtype=np.float64).ravel()
        mean = np.asarray(gained @ member).ravel() / np.maximum(n, 1)
        spread = (np.asarray(gained**2 @ member).ravel() - n * mean**2) / np.maximum(n - 1, 1)
        # No difference in a few examples does not show that there is none.
        means.append(mean)
        variances.append(np.maximum(spread, 1 / np.maximum(n, 1)) / np.maximum(n, 1) * np.asarray(effects))
        sizes.append(n)
    change, variance = means[0] - means[1], variances[0] + variances[1]
    freedom = variance**2 / sum(v**2 / np.maximum(n - 1, 1) for v, n in zip(variances, sizes, strict=True))
    error, enough = np.sqrt(variance), np.minimum(*sizes) >= FEWEST_TO_COMPARE
    margin = stdtrit(freedom, 0.975) * error
    p_value = 2 * stdtr(freedom, -np.abs(change) / error)
    low, high = np.clip(change - margin, -2.0, 2.0), np.clip(change + margin, -2.0, 2.0)
    log10_p = np.log10(np.maximum(p_value, 1e-300))
    return RelianceChange(*(np.where(enough, values, np.nan) for values in (change, low, high, log10_p)))


def mcnemar_log_p(only_a: int, only_b: int) -> float:
    """Natural log of the exact two-sided p-value: 2 · P(Binomial(a + b, ½) ≥ max(a, b)), at most one."""
    total, more = only_a + only_b, max(only_a, only_b)
    if 2 * more <= total + 1:
        return 0.0
    side = np.arange(more, total + 1, dtype=np.float64)
    logs = gammaln(total + 1.0) - gammaln(side + 1.0) - gammaln(total - side + 1.0)
    tail = float(logs[0] + np.log(np.sum(np.exp(logs - logs[0])))) - total * np.log(2.0)
    return min(0.0, float(np.log(2.0) + tail))


def _bootstrap(
    n: Ints, only_a: Ints, only_b: Ints, confidence: float, draws: int, seed: int
) -> tuple[Floats, Floats]:
    if not 0 < confidence < 1 or draws < 1:
        raise ValueError("confidence must be between 0 and 1 and draws at least 1.")
    size = np.maximum(n, 1)
    shares = np.stack([only_a / size, only_b / size, 1.0 - (only_a + only_b) / size], axis=1)
    drawn = np.random.default_rng(seed).multinomial(n, np.clip(shares, 0.0, 1.0), size=(draws, len(n)))
    differences = (drawn[..., 0] - drawn[..., 1]) / size
    low, high = np.quantile(differences, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def _checked(
    correct_a: npt.ArrayLike, correct_b: npt.ArrayLike
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    a, b = checked_truths(correct_a, "correct_a"), checked_truths(correct_b, "correct_b")
    if a.shape != b.shape:
        raise ValueError(f"both models need the same instances, got {len(a)} and {len(b)}.")
    return a, b
