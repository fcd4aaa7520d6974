"""Compiled loops of the averaged n-gram model: one thread, one example at a time, the same every run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.models.linear._kernels import mixed

Tokens = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def average(
    indptr: Longs, indices: Tokens, values: Singles, vectors: Singles, row: int, hidden: Singles
) -> None:
    """Write the weighted sum of the vectors of a row's features."""
    width = len(hidden)
    for d in range(width):
        hidden[d] = 0
    for t in range(indptr[row], indptr[row + 1]):
        feature, value = indices[t], values[t]
        for d in range(width):
            hidden[d] += value * vectors[feature, d]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def spread(
    indptr: Longs, indices: Tokens, values: Singles, vectors: Singles, row: int, change: Singles, rate: float
) -> None:
    """Move the vectors of a row's features against a gradient of their weighted sum."""
    for t in range(indptr[row], indptr[row + 1]):
        feature, step = indices[t], np.float32(rate) * values[t]
        for d in range(len(change)):
            vectors[feature, d] -= step * change[d]


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def softmax_in_place(margins: Singles) -> None:
    """Turn margins into probabilities, in place."""
    top = margins[0]
    for j in range(1, len(margins)):
        top = max(top, margins[j])
    total = np.float32(0)
    for j in range(len(margins)):
        margins[j] = np.exp(margins[j] - top)
        total += margins[j]
    for j in range(len(margins)):
        margins[j] /= total


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def loss_and_residual(
    margins: Singles,
    i: int,
    gold: int,
    offset: Singles,
    target: Singles,
    amount: float,
    penalty: float,
) -> tuple[float, float]:
    """Turn margins into the gradient of example i's loss by them; return the loss and its slope in `amount`.

    `amount` times the expert's log-probabilities in `offset` is added to the margins; `target` has probabilities to
    learn instead of the label; both have no rows where they are not used. A `penalty` times the entropy of the expert
    with that amount is added to the loss: with V the variance of its log-probabilities, the entropy's slope is
    −amount · V.
    """
    k, slope = len(margins), 0.0
    loss = 0.0
    if penalty > 0:
        top = offset[i, 0]
        for j in range(1, k):
            top = max(top, offset[i, j])
        total, first, second = 0.0, 0.0, 0.0
        for j in range(k):
            e = np.exp(amount * (offset[i, j] - top))
            total += e
            first += e * offset[i, j]
            second += e * offset[i, j] ** 2
        mean = first / total
        loss += penalty * (np.log(total) + amount * (top - mean))
        slope -= penalty * amount * (second / total - mean**2)
    if len(offset):
        for j in range(k):
            margins[j] += np.float32(amount) * offset[i, j]
    softmax_in_place(margins)
    if len(target):
        for j in range(k):
            loss -= target[i, j] * np.log(max(margins[j], np.float32(1e-30)))
            margins[j] -= target[i, j]
    else:
        loss -= np.log(max(margins[gold], np.float32(1e-30)))
        margins[gold] -= 1
    if len(offset):
        for j in range(k):
            slope += margins[j] * offset[i, j]
    return loss, slope


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def group_factor(groups: Longs, shares: Singles, pace: float, i: int, loss: float) -> float:
    """Raise the share of the example's group by its loss; return the share times the number of groups.

    Sagawa et al. 2020, algorithm 1: examples are drawn so that every group is as frequent as any other.
    """
    group = groups[i]
    shares[group] *= np.exp(np.float32(pace * loss))
    total = np.float32(0)
    for g in range(len(shares)):
        total += shares[g]
    for g in range(len(shares)):
        shares[g] /= total
    return float(shares[group]) * len(shares)


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def mixing_margin(mixing: Singles, hidden: Singles) -> float:
    """Return the number whose softplus is how much of the expert a row asks for; the last entry is the intercept."""
    s = float(mixing[len(hidden)])
    for d in range(len(hidden)):
        s += mixing[d] * hidden[d]
    return s


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def learn_labels(
    indptr: Longs,
    indices: Tokens,
    values: Singles,
    gold: Longs,
    weight: Singles,
    order: Longs,
    rate: float,
    decay: float,
    vectors: Singles,
    output: Singles,
    bias: Singles,
    offset: Singles,
    target: Singles,
    groups: Longs,
    aside: Singles,
    pace: float,
) -> float:
    """Learn from the rows in `order`; return the sum of their losses.

    The rate of the first step is `rate`, and `decay` less with every further one. `vectors` has a row per
    feature, `output` one per label. `offset` and `target` are those of `loss_and_residual`. With `groups`, `aside` has
    their shares and `pace` is the step size; without, an `aside` that is not empty are mixing weights and `pace` is
    the weight of the entropy.
    """
    k, width = output.shape
    hidden, change, chance = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(k, np.float32)
    mixes = len(aside) > 0 and len(groups) == 0
    loss, amount, s = 0.0, 1.0, 0.0
    for step, i in enumerate(order):
        average(indptr, indices, values, vectors, i, hidden)
        for j in range(k):
            z = bias[j]
            for d in range(width):
                z += output[j, d] * hidden[d]
            chance[j] = z
        if mixes:
            s = mixing_margin(aside, hidden)
            amount = max(s, 0.0) + np.log1p(np.exp(-abs(s)))
        each, slope = loss_and_residual(chance, i, gold[i], offset, target, amount, pace if mixes else 0.0)
        factor = float(weight[i])
        loss += factor * each
        if len(groups):
            factor *= group_factor(groups, aside, pace, i, each)
        now = np.float32((rate - decay * step) * factor)
        change[:] = 0
        for j in range(k):
            g = chance[j]
            for d in range(width):
                change[d] += g * output[j, d]
                output[j, d] -= now * g * hidden[d]
            bias[j] -= now * g
        if mixes:
            g = np.float32(slope / (1 + np.exp(-s)))
            for d in range(width):
                change[d] += g * aside[d]
                aside[d] -= now * g * hidden[d]
            aside[width] -= now * g
        spread(indptr, indices, values, vectors, i, change, now)
    return loss


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def learn_choices(
    indptr: Longs,
    indices: Tokens,
    values: Singles,
    starts: Longs,
    gold: Longs,
    weight: Singles,
    order: Longs,
    rate: float,
    decay: float,
    vectors: Singles,
    output: Singles,
    offset: Singles,
    target: Singles,
    groups: Longs,
    aside: Singles,
    pace: float,
) -> float:
    """Learn from the examples in `order`, whose rows compete; return the sum of their losses.

    Example e has the rows from `starts[e]` to `starts[e + 1]`; `output` has one row. The rest is that of
    `learn_labels`, by example; the amount of the expert that is mixed in is the mean of its rows'.
    """
    width = output.shape[1]
    widest = 0
    for e in range(len(starts) - 1):
        widest = max(widest, starts[e + 1] - starts[e])
    all_hidden, all_chance = np.empty((widest, width), np.float32), np.empty(widest, np.float32)
    change, before = np.empty(width, np.float32), np.empty(width, np.float32)
    pulled, mixing = np.zeros(widest, np.float32), aside.copy()
    mixes = len(aside) > 0 and len(groups) == 0
    loss, amount = 0.0, 1.0
    for step, e in enumerate(order):
        first, n = starts[e], starts[e + 1] - starts[e]
        chance = all_chance[:n]
        if mixes:
            amount = 0.0
        for i in range(n):
            average(indptr, indices, values, vectors, first + i, all_hidden[i])
            z = np.float32(0)
            for d in range(width):
                z += output[0, d] * all_hidden[i, d]
            chance[i] = z
            if mixes:
                s = mixing_margin(aside, all_hidden[i])
                amount += (max(s, 0.0) + np.log1p(np.exp(-abs(s)))) / n
                pulled[i] = 1 / ((1 + np.exp(-s)) * n)
        each, slope = loss_and_residual(chance, e, gold[e], offset, target, amount, pace if mixes else 0.0)
        factor = float(weight[e])
        loss += factor * each
        if len(groups):
            factor *= group_factor(groups, aside, pace, e, each)
        now = np.float32((rate - decay * step) * factor)
        before[:] = output[0]
        mixing[:] = aside
        for i in range(n):
            for d in range(width):
                change[d] = chance[i] * before[d]
                output[0, d] -= now * chance[i] * all_hidden[i, d]
            if mixes:
                g = np.float32(slope) * pulled[i]
                for d in range(width):
                    change[d] += g * mixing[d]
                    aside[d] -= now * g * all_hidden[i, d]
                aside[width] -= now * g
            spread(indptr, indices, values, vectors, first + i, change, now)
    return loss


@njit(cache=True, nogil=True)
def add_ngrams(
    indptr: Longs,
    indices: Tokens,
    values: Floats,
    ids: Tokens,
    offsets: Longs,
    keys: Longs,
    most: int,
    mask: np.uint64,
    column: Tokens,
    scratch: Floats,
    squares: Floats,
) -> None:
    """Add to every token the squares of the values of the n-grams it is part of, each n-gram once.

    Row i has the entries from `indptr[i]`; `column` is the feature of a hash or -1, `scratch` a zero per feature.
    """
    for i in range(len(offsets) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            scratch[indices[t]] = values[t]
        begin, end = offsets[i], offsets[i + 1]
        for t in range(begin, end):
            for length in range(1, most + 1):
                for s in range(max(begin, t - length + 1), min(t, end - length) + 1):
                    feature = _feature(ids, keys, s, length, mask, column)
                    if feature < 0:
                        continue
                    again = False  # the same n-gram around the same token, as in "no no no"
                    for r in range(max(begin, t - length + 1), s):
                        again = again or _feature(ids, keys, r, length, mask, column) == feature
                    if not again:
                        squares[t] += scratch[feature] ** 2
        for t in range(indptr[i], indptr[i + 1]):
            scratch[indices[t]] = 0


@njit(cache=True, nogil=True)
def _feature(ids: Tokens, keys: Longs, first: int, length: int, mask: np.uint64, column: Tokens) -> int:
    """Return the feature of an n-gram of a single text, or -1."""
    h = np.uint64(1)
    for t in range(first, first + length):
        h = mixed(h, keys[ids[t]])
    return int(column[np.int64(h & mask)])


@njit(cache=True, nogil=True)
def add_shared(
    indptr: Longs,
    indices: Tokens,
    values: Floats,
    premise: Tokens,
    premise_offsets: Longs,
    hypothesis: Tokens,
    offsets: Longs,
    keys: Longs,
    mask: np.uint64,
    column: Tokens,
    scratch: Floats,
    stamp: Longs,
    premise_squares: Floats,
    hypothesis_squares: Floats,
) -> None:
    """Add the squares of the values of shared and unshared words to the tokens of both texts that make them up."""
    for i in range(len(offsets) - 1):
        for t in range(indptr[i], indptr[i + 1]):
            scratch[indices[t]] = values[t]
        for t in range(premise_offsets[i], premise_offsets[i + 1]):
            stamp[premise[t]] = 2 * i
        for t in range(offsets[i], offsets[i + 1]):
            word = hypothesis[t]
            shared = stamp[word] >= 2 * i
            feature = column[np.int64(mixed(mixed(np.uint64(0), np.uint64(shared)), keys[word]) & mask)]
            if feature >= 0:
                hypothesis_squares[t] += scratch[feature] ** 2
            if shared:
                stamp[word] = 2 * i + 1  # both texts have it
        for t in range(premise_offsets[i], premise_offsets[i + 1]):
            if stamp[premise[t]] == 2 * i + 1:
                word = premise[t]
                feature = column[np.int64(mixed(mixed(np.uint64(0), np.uint64(1)), keys[word]) & mask)]
                if feature >= 0:
                    premise_squares[t] += scratch[feature] ** 2
        for t in range(indptr[i], indptr[i + 1]):
            scratch[indices[t]] = 0
