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
) -> float:
    """Learn from the rows in `order`; return the sum of their losses.

    The rate of the first step is `rate`, and `decay` less with every further one. `vectors` has a row per
    feature, `output` one per label. `offset` is added to the margins of every row (log-probabilities of an expert), and
    `target` has probabilities to learn instead of labels; of no rows where there are none.
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
            chance[j] = z + offset[i, j] if len(offset) else z
        softmax_in_place(chance)
        if len(target):
            for j in range(k):
                loss -= weight[i] * target[i, j] * np.log(max(chance[j], np.float32(1e-30)))
                chance[j] -= target[i, j]
        else:
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
        softmax_in_place(chance)
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
