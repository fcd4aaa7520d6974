"""Compiled loops of the averaged n-gram model: one thread, one example at a time, the same every run."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

Tokens = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]


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
def softmax(margins: Singles) -> None:
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
) -> float:
    """Learn from the rows in `order`; return the sum of their losses.

    The rate of the first step is `rate`, and `decay` less with every further one. `vectors` has a row per
    feature, `output` one per label.
    """
    k, width = output.shape
    hidden, change, chance = np.empty(width, np.float32), np.empty(width, np.float32), np.empty(k, np.float32)
    loss = 0.0
    for step, i in enumerate(order):
        average(indptr, indices, values, vectors, i, hidden)
        for j in range(k):
            z = bias[j]
            for d in range(width):
                z += output[j, d] * hidden[d]
            chance[j] = z
        softmax(chance)
        loss -= weight[i] * np.log(max(chance[gold[i]], np.float32(1e-30)))
        chance[gold[i]] -= 1
        now = np.float32((rate - decay * step) * weight[i])
        change[:] = 0
        for j in range(k):
            g = chance[j]
            for d in range(width):
                change[d] += g * output[j, d]
                output[j, d] -= now * g * hidden[d]
            bias[j] -= now * g
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
) -> float:
    """Learn from the examples in `order`, whose rows compete; return the sum of their losses.

    Example e has the rows from `starts[e]` to `starts[e + 1]`; `output` has one row.
    """
    width = output.shape[1]
    widest = 0
    for e in range(len(starts) - 1):
        widest = max(widest, starts[e + 1] - starts[e])
    all_hidden, all_chance = np.empty((widest, width), np.float32), np.empty(widest, np.float32)
    change, before = np.empty(width, np.float32), np.empty(width, np.float32)
    loss = 0.0
    for step, e in enumerate(order):
        first, n = starts[e], starts[e + 1] - starts[e]
        chance = all_chance[:n]
        for i in range(n):
            average(indptr, indices, values, vectors, first + i, all_hidden[i])
            z = np.float32(0)
            for d in range(width):
                z += output[0, d] * all_hidden[i, d]
            chance[i] = z
        softmax(chance)
        loss -= weight[e] * np.log(max(chance[gold[e]], np.float32(1e-30)))
        chance[gold[e]] -= 1
        now = np.float32((rate - decay * step) * weight[e])
        before[:] = output[0]
        for i in range(n):
            for d in range(width):
                change[d] = chance[i] * before[d]
                output[0, d] -= now * chance[i] * all_hidden[i, d]
            spread(indptr, indices, values, vectors, first + i, change, now)
    return loss


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def averages(indptr: Longs, indices: Tokens, values: Singles, vectors: Singles) -> Singles:
    """Return the weighted sum of the vectors of every row's features."""
    hidden = np.empty((len(indptr) - 1, vectors.shape[1]), np.float32)
    for i in range(len(hidden)):
        average(indptr, indices, values, vectors, i, hidden[i])
    return hidden
