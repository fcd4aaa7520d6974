"""How likely the key of an item is wrong, by what models answered instead, with a false discovery rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp

from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.preferences.item_response import item_response

__all__ = ["WrongKeys", "listed_within", "wrong_keys"]

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
