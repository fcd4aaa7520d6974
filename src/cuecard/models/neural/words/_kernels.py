"""Compiled loops of word vectors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Vectors = npt.NDArray[np.float32]


@njit(cache=True, nogil=True)
def _next(state: np.uint64) -> np.uint64:
    """Return the next state of a 64-bit xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(cache=True, nogil=True, fastmath=True)
def cbow_epoch(
    ids: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    keep: npt.NDArray[np.float32],
    negatives: npt.NDArray[np.int32],
    window: int,
    n_negatives: int,
    first_rate: float,
    last_rate: float,
    seed: int,
    vectors: Vectors,
    contexts: Vectors,
) -> None:
    """Learn word vectors from texts in an order, in place: the mean of the words around predicts each word.

    `keep` is the chance of every word to be left in its text, `negatives` a long list of words in proportion to
    their chance to be drawn as a wrong answer. The rate falls evenly from the first to the last text.
    """
    dimensions = vectors.shape[1]
    mean = np.empty(dimensions, np.float32)
    change = np.empty(dimensions, np.float32)
    longest = 1
    for i in range(len(offsets) - 1):
        longest = max(longest, offsets[i + 1] - offsets[i])
    text = np.empty(longest, np.int32)
    state = np.uint64(seed * 2 + 88172645463325253)
    for _ in range(20):
        state = _next(state)
    unit = np.float32(1.0 / 16777216.0)
    for step in range(len(order)):
        rate = np.float32(first_rate + (last_rate - first_rate) * step / len(order))
        row = order[step]
        n = 0
        for at in range(offsets[row], offsets[row + 1]):
            word = ids[at]
            state = _next(state)
            if np.float32(state >> np.uint64(40)) * unit < keep[word]:
                text[n] = word
                n += 1
        for at in range(n):
            state = _next(state)
            reach = 1 + int((state >> np.uint64(33)) % np.uint64(window))
            first, last = max(0, at - reach), min(n, at + reach + 1)
            around = last - first - 1
            if around == 0:
                continue
            mean[:] = 0.0
            change[:] = 0.0
            for near in range(first, last):
                if near != at:
                    for d in range(dimensions):
                        mean[d] += vectors[text[near], d]
            share = np.float32(1.0 / around)
            for d in range(dimensions):
                mean[d] *= share
            for draw in range(n_negatives + 1):
                if draw == 0:
                    word, target = text[at], np.float32(1.0)
                else:
                    state = _next(state)
                    word = negatives[int((state >> np.uint64(33)) % np.uint64(len(negatives)))]
                    if word == text[at]:
                        continue
                    target = np.float32(0.0)
                score = np.float32(0.0)
                for d in range(dimensions):
                    score += mean[d] * contexts[word, d]
                step_size = (target - np.float32(1.0) / (np.float32(1.0) + np.exp(-score))) * rate
                for d in range(dimensions):
                    change[d] += step_size * contexts[word, d]
                    contexts[word, d] += step_size * mean[d]
            for near in range(first, last):
                if near != at:
                    for d in range(dimensions):
                        vectors[text[near], d] += change[d]
