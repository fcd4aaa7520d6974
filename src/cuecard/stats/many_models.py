"""Many models on one benchmark: differences, reliability, and keys that may be wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri, gammaln, logsumexp, ndtr, ndtri

from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import deflated_log10_p, design_effects, mcnemar_log_p
from cuecard.stats.multiple_testing import holm
from cuecard.stats.preferences.item_response import item_response

__all__ = [
    "PairedDifferences",
    "WrongKeys",
    "failed_by_better",
    "kr20",
    "listed_within",
    "paired_differences",
    "smallest_difference",
    "split_half",
    "wrong_keys",
]

_Z = float(ndtri(0.975))
_LN10 = float(np.log(10.0))


@dataclass(frozen=True, eq=False)
class PairedDifferences:
    """Accuracy of a first model minus that of a second one for every pair of models; arrays follow the pairs."""

    first: Ints
    second: Ints
    only_first: Ints
    only_second: Ints
    difference: Floats
    low: Floats
    high: Floats
    effect: Floats
    """Design effects of examples that are not independent; 1 where they are."""
    log10_p: Floats
    p_adjusted: Floats
    """Exact McNemar p-values with the design effect, adjusted over all pairs (Holm)."""


def paired_differences(correct: npt.ArrayLike, kinds: Sequence[npt.ArrayLike] = ()) -> PairedDifferences:
    """Compare every pair of models on the same examples: McNemar's exact test and the interval of Agresti and Min.

    Args:
        correct: examples × models, whether a model is right.
        kinds: codes of the units that examples share, one array per kind, such as questions of one passage.

    >>> a, b = [1] * 60 + [0] * 40, [1] * 45 + [0] * 55
    >>> pairs = paired_differences(np.transpose([a, b]))
    >>> pairs.difference.round(2).tolist(), (pairs.low > 0).tolist(), (pairs.p_adjusted < 0.001).tolist()
    ([0.15], [True], [True])
    """
    right = np.asarray(correct, dtype=np.float64)
    n, models = right.shape
    first, second = (side.astype(np.int64) for side in np.triu_indices(models, 1))
    both = right.T @ right
    totals = right.sum(axis=0)
    only_first = np.rint(totals[first] - both[first, second]).astype(np.int64)
    only_second = np.rint(totals[second] - both[first, second]).astype(np.int64)
    effect = np.ones(len(first))
    for i, (a, b) in enumerate(zip(first, second, strict=True) if kinds else ()):
        gained = right[:, a] - right[:, b]
        effect[i] = design_effects(gained - gained.mean(), np.ones((n, 1)), kinds)[0]
    exact = np.array([mcnemar_log_p(int(a), int(b)) for a, b in zip(only_first, only_second, strict=True)])
    log10_p = deflated_log10_p(exact / _LN10, effect)
    # Half an example more of each of the four kinds (Agresti and Min 2005).
    gain, loss, size = only_first + 0.5, only_second + 0.5, n + 2.0
    middle = (gain - loss) / size
    error = np.sqrt((gain + loss - (gain - loss) ** 2 / size) * effect) / size
    return PairedDifferences(
        first,
        second,
        only_first,
        only_second,
        (only_first - only_second) / n,
        np.maximum(middle - _Z * error, -1.0),
        np.minimum(middle + _Z * error, 1.0),
        effect,
        log10_p,
        holm(10.0**log10_p) if len(first) else np.empty(0),
    )


def smallest_difference(discordance: float, n: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest difference in accuracy that a two-sided McNemar test finds with this power.

    Args:
        discordance: share of the examples on which exactly one of two models is right.
        n: number of examples, divided by the design effect.
        alpha: level of the test, divided by the number of tests where there are several (Bonferroni).
        power: probability to find the difference.

    >>> round(smallest_difference(0.2, 1000), 3)
    0.04
    """
    level, found = float(ndtri(1 - alpha / 2)), float(ndtri(power))

    def lacking(difference: float) -> float:
        share = max(discordance, difference)
        needed = level * math.sqrt(share) + found * math.sqrt(max(share - difference**2, 0.0))
        return difference * math.sqrt(n) - needed

    low, high = 0.0, 1.0
    if lacking(high) < 0:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) < 0 else (low, middle)
    return high


def tied_with_best(pairs: PairedDifferences, accuracy: Floats, alpha: float) -> Bools:
    """Return which models are not less accurate than the most accurate one in this sample, by the adjusted tests."""
    best = int(np.argmax(accuracy))
    worse = np.zeros(len(accuracy), dtype=np.bool_)
    involved = (pairs.first == best) | (pairs.second == best)
    other = np.where(pairs.first == best, pairs.second, pairs.first)
    worse[other[involved & (pairs.p_adjusted <= alpha)]] = True
    return np.asarray(~worse)


def kr20(correct: npt.ArrayLike, units: npt.ArrayLike | None = None) -> tuple[float, float, float]:
    """Kuder and Richardson's formula 20 with its 95 % interval over models (Feldt 1965).

    k / (k − 1) · (1 − Σ variance of a unit / variance of the total). Items of one unit, such as questions of one
    passage, count together: their sum is one item (Cronbach's α of testlets). nan where the totals do not differ,
    and −1 where it would be less.

    Args:
        correct: items × models, 1 where right.
        units: codes of items that are one observation; every item by default.

    >>> answers = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> round(kr20(answers)[0], 3)
    0.75
    """
    totals = _by_unit(correct, units)
    k, models = totals.shape
    spread = float(totals.sum(axis=0).var())
    if k < 2 or models < 2 or spread == 0:
        return float("nan"), float("nan"), float("nan")
    alpha = k / (k - 1) * (1 - float(totals.var(axis=1).sum()) / spread)
    quantiles = [float(fdtri(models - 1, (models - 1) * (k - 1), level)) for level in (0.975, 0.025)]
    low, high = (1 - (1 - alpha) * quantile for quantile in quantiles)
    return max(alpha, -1.0), max(low, -1.0), max(high, -1.0)


def split_half(
    correct: npt.ArrayLike, units: npt.ArrayLike | None = None, *, splits: int = 200, seed: int = 0
) -> tuple[float, float, float]:
    """The correlation of models' scores on two random halves, for the whole length, with its 95 % interval.

    Fisher's z of the correlation is averaged over random halves and its interval is that over models; Spearman and
    Brown's formula 2r / (1 + r) takes both to the length of the whole. Units are not divided.
    """
    totals = _by_unit(correct, units)
    k, models = totals.shape
    if k < 2 or models < 4 or float(totals.sum(axis=0).var()) == 0:
        return float("nan"), float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    halves = np.argsort(rng.random((splits, k)), axis=1) < k // 2
    first = halves.astype(np.float64) @ totals
    second = (~halves).astype(np.float64) @ totals
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    usable = scale > 0
    if not usable.any():
        return float("nan"), float("nan"), float("nan")
    r = np.clip((a * b).sum(axis=1)[usable] / scale[usable], -0.999999, 0.999999)
    z = float(np.arctanh(r).mean())
    margin = _Z / np.sqrt(models - 3)
    value, low, high = (max(2 * half / (1 + half), -1.0) for half in np.tanh([z, z - margin, z + margin]))
    return float(value), float(low), float(high)


def _by_unit(correct: npt.ArrayLike, units: npt.ArrayLike | None) -> Floats:
    """Return units × models, how many items of a unit a model has right."""
    right = np.asarray(correct, dtype=np.float64)
    if units is None:
        return right
    codes: Ints = np.unique(np.asarray(units), return_inverse=True)[1].ravel().astype(np.int64)
    totals = np.zeros((int(codes.max(initial=-1)) + 1, right.shape[1]))
    np.add.at(totals, codes, right)
    return totals


#: Beyond this many models the normal approximation is as good as exact.
_EXACT = 150


def failed_by_better(correct: npt.ArrayLike) -> Floats:
    """One-sided p-values, per item: are models that are right on it worse on the other items than those that are wrong?

    The sum of the ranks of the models that are right, by their score on the other items, against all equally likely
    choices of as many models (Wilcoxon 1945): exact. 1 where all or none are right.

    Args:
        correct: items × models, whether a model is right.

    >>> staircase = np.tril(np.ones((8, 8)))
    >>> item = np.array([[0, 0, 0, 0, 0, 0, 1, 1]])  # the two weakest models alone are right
    >>> p = failed_by_better(np.vstack([staircase, item]))
    >>> round(float(p[-1]), 4), bool(p[:-1].min() > 0.05)
    (0.0357, True)
    """
    right = np.asarray(correct, dtype=np.int64)
    items, models = right.shape
    if models < 2:
        return np.ones(items)
    rest = right.sum(axis=0)[None, :] - right
    # Ties count in favour of the item, so that the test keeps its level.
    order = np.lexsort((right, rest), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, models + 1)[None, :], axis=1)
    sums, count = (ranks * right).sum(axis=1), right.sum(axis=1)
    if models <= _EXACT:
        tails = _tails(models)
        p = np.array([tails[k][s] for k, s in zip(count, sums, strict=True)])
    else:
        mean = count * (models + 1) / 2
        spread = np.sqrt(np.maximum(count * (models - count) * (models + 1) / 12, 1e-12))
        p = ndtr((sums + 0.5 - mean) / spread)
    return np.where((count == 0) | (count == models), 1.0, np.minimum(p, 1.0))


def _tails(models: int) -> Floats:
    """Return P(sum of the ranks of k of the models ≤ s), by k and s."""
    most = models * (models + 1) // 2
    ways = np.zeros((models + 1, most + 1))
    ways[0, 0] = 1.0
    for rank in range(1, models + 1):
        for k in range(rank, 0, -1):
            ways[k, rank:] += ways[k - 1, : most + 1 - rank]
    return np.asarray(np.cumsum(ways, axis=1) / ways.sum(axis=1, keepdims=True))


#: Items are of these kinds: how steeply the chance of a right answer rises with ability, how easy they are, and
#: whether guesses are right.
_SLOPES, _EASE = (0.0, 0.5, 1.0, 1.6, 2.5), np.linspace(-4.0, 5.0, 13)
#: How unevenly wrong answers fall on the other options: small numbers are popular wrong answers.
_EVENNESS = (0.15, 0.25, 0.4, 0.6, 1.0, 1.6, 2.5, 5.0, 20.0)
_ROUNDS = 40
#: Wrong keys are rarer than this.
_MOST = 0.3
#: Items whose key is less likely wrong than this are not listed, whatever the others make of the rate.
_LEAST = 0.3
#: Share of items whose ease is spread evenly instead of normal.
_UNUSUAL = 0.02


@dataclass(frozen=True, eq=False)
class WrongKeys:
    """Per item, the probability that its key is wrong, and the option that is then most likely the right one."""

    probability: Floats
    other: Ints
    agreed: Floats
    """Share of the models that answered it."""
    share: float
    """Estimated share of the items whose key is wrong."""


def wrong_keys(answers: npt.ArrayLike, gold: npt.ArrayLike, sizes: npt.ArrayLike) -> WrongKeys:
    """Compare two explanations of what models answered: the key is right, or another option is.

    An item with a right key is one of the kinds whose shares are estimated from all items: the chance of the right
    answer rises with the ability of a model, and wrong answers fall on the other options unevenly, as unevenly as they
    do in this benchmark (Dirichlet-multinomial). With a wrong key, the same holds of another option. Bayes' rule weighs
    both by the share of wrong keys, which is estimated too.

    Args:
        answers: items × models, the option that was picked; below 0 where there is none.
        gold: the key of every item.
        sizes: number of options of every item.
    """
    picked, key, size = (np.asarray(values, dtype=np.int64) for values in (answers, gold, sizes))
    ability = item_response((picked == key[:, None]).T).ability
    likelihood, spread = _likelihoods(picked, size, ability)
    n, width = picked.shape[0], int(size.max(initial=1))
    rows = np.arange(n)
    offered: Bools = np.arange(width)[None, :] < size[:, None]
    is_key = np.arange(width)[None, :] == key[:, None]
    kinds = np.full(likelihood.shape[2], 1 / likelihood.shape[2])
    evenness, share = _EVENNESS.index(1.0), 0.02
    probability, by_option = np.zeros(n), np.zeros((n, width))
    highest = likelihood.max(axis=2)
    relative = np.exp(likelihood - highest[:, :, None])
    for _ in range(_ROUNDS):
        of_kinds = relative @ kinds
        each = np.where(offered, np.log(of_kinds) + highest + spread[evenness], -np.inf)
        right = each[rows, key] + np.log1p(-share)
        others = np.where(is_key, -np.inf, each - np.log(np.maximum(size - 1, 1))[:, None] + np.log(share))
        total = logsumexp(np.column_stack([right, others]), axis=1)
        by_option = np.exp(others - total[:, None])
        before, probability = probability, by_option.sum(axis=1)
        weight = by_option.copy()
        weight[rows, key] = 1 - probability
        kinds = _smooth(kinds * np.tensordot(weight / of_kinds, relative, axes=2) / n)
        fits = [float((weight * np.where(offered, of_level, 0.0)).sum()) for of_level in spread]
        evenness = int(np.argmax(fits))
        # One wrong key in 50 more: benchmarks have a few per cent, and a share of 0 would never be left again.
        share = min(float((probability.sum() + 1) / (n + 50)), _MOST)
        if np.abs(probability - before).max() < 1e-4:
            break
    other = by_option.argmax(axis=1).astype(np.int64)
    agreed = np.asarray((picked == other[:, None]).mean(axis=1))
    return WrongKeys(probability, other, agreed, float(probability.mean()))


def listed_within(probability: Floats, rate: float) -> Ints:
    """Return the items to list so that at most this share of them is expected to be listed in error.

    >>> listed_within(np.array([0.99, 0.2, 0.9, 0.6]), 0.1).tolist()
    [0, 2]
    """
    order = np.argsort(-probability, kind="stable")
    errors = np.cumsum(1 - probability[order]) / np.arange(1, len(order) + 1)
    within = np.flatnonzero((errors <= rate) & (probability[order] > _LEAST))
    return np.asarray(order[: within[-1] + 1] if len(within) else order[:0], dtype=np.int64)


def _smooth(kinds: Floats) -> Floats:
    """Return shares of kinds whose ease is normal: a few items with wrong keys cannot make a kind of their own."""
    table = kinds.reshape(2, len(_SLOPES), len(_EASE))
    rest = table.sum(axis=2, keepdims=True)
    ease = table.sum(axis=(0, 1))
    mean = float(ease @ _EASE)
    spread = max(float(ease @ (_EASE - mean) ** 2), 0.5)
    normal = np.exp(-((_EASE - mean) ** 2) / (2 * spread))
    shape = (1 - _UNUSUAL) * normal / normal.sum() + _UNUSUAL / len(_EASE)
    return np.asarray(np.maximum((rest * shape).ravel(), 1e-12))


def _likelihoods(picked: Ints, size: Ints, ability: Floats) -> tuple[Floats, list[Floats]]:
    """Return the log likelihood of items × options as key × kinds, and of how the other answers fall, by evenness."""
    n, width = len(picked), int(size.max(initial=1))
    slopes, ease = (grid.ravel() for grid in np.meshgrid(_SLOPES, _EASE, indexing="ij"))
    curve = 1 / (1 + np.exp(-(slopes[:, None] * ability + ease[:, None])))
    hits = np.stack([picked == option for option in range(width)], axis=1).astype(np.float64)
    answered = (picked >= 0).astype(np.float64)
    likelihood = np.empty((n, width, 2 * len(slopes)))
    for count in np.unique(size):
        rows = np.flatnonzero(size == count)
        for i, guess in enumerate((0.0, 1.0 / count)):
            p = np.clip(guess + (1 - guess) * curve, 1e-6, 1 - 1e-6)
            block = slice(i * len(slopes), (i + 1) * len(slopes))
            missed = answered[rows, None, :] - hits[rows]
            likelihood[rows, :, block] = hits[rows] @ np.log(p).T + missed @ np.log1p(-p).T
    times = hits.sum(axis=2)
    spread = []
    for alpha in _EVENNESS:
        each = gammaln(times + alpha) - gammaln(alpha)
        others = np.maximum(size - 1, 1)[:, None] * alpha
        wrong = times.sum(axis=1, keepdims=True) - times
        spread.append(gammaln(others) - gammaln(others + wrong) + each.sum(axis=1, keepdims=True) - each)
    return likelihood, spread
