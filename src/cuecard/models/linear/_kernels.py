"""Compiled loops of the linear learner: hashed n-grams from integer tokens, and dual coordinate ascent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard._prefetch import prefetch, prefetch_range

Tokens = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: Rows are visited in random order, so most of them come from memory: a row is asked for this many rows ahead, and
#: where it begins twice as many.
AHEAD = 8


@njit(cache=True, nogil=True)
def mixed(a: np.uint64, b: int) -> np.uint64:
    """Return 64 well-mixed bits of two numbers."""
    h = np.uint64(a) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(b) * np.uint64(0xC2B2AE3D27D4EB4F)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(32)
    return h


@njit(cache=True, nogil=True)
def hash_words(data: npt.NDArray[np.uint8], offsets: Longs) -> Longs:
    """Return a number for every word that depends on its letters alone, so that every run gives the same."""
    keys = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(keys)):
        h = np.uint64(offsets[i + 1] - offsets[i])
        for t in range(offsets[i], offsets[i + 1]):
            h = mixed(h, data[t] + 1)
        keys[i] = np.int64(h >> np.uint64(1))
    return keys


@njit(cache=True, nogil=True)
def hash_ngrams(
    ids: Tokens,
    offsets: Longs,
    keys: Longs,
    most: int,
    salt: int,
    mask: np.uint64,
    seen: Tokens,
    out: Tokens,
    starts: Longs,
    used: Longs,
) -> None:
    """Write the distinct n-grams (up to `most` words) of every text as hashes, from `used[i]` in its row.

    A word is known by its number in `keys`. Row i of `out` begins at `starts[i]`. `seen` remembers the last
    text that had a hash, so that each is written once per text; it must hold nothing from an earlier call
    with the same `salt`.
    """
    for i in range(len(offsets) - 1):
        at = starts[i] + used[i]
        for t in range(offsets[i], offsets[i + 1]):
            h = np.uint64(salt)
            for length in range(min(most, offsets[i + 1] - t)):
                h = mixed(h, keys[ids[t + length]])
                slot = np.int64(h & mask)
                if seen[slot] != i:
                    seen[slot] = i
                    out[at] = slot
                    at += 1
        used[i] = at - starts[i]


@njit(cache=True, nogil=True)
def hash_shared(
    premise: Tokens,
    premise_offsets: Longs,
    hypothesis: Tokens,
    offsets: Longs,
    keys: Longs,
    salt: int,
    mask: np.uint64,
    stamp: Longs,
    out: Tokens,
    starts: Longs,
    used: Longs,
) -> None:
    """Write for every distinct word of a hypothesis a hash that says whether the premise has it too.

    A word is known by its number in `keys`; `stamp` has a place for each, filled with -1. Row i of `out`
    begins at `starts[i]` and holds `used[i]` entries afterwards.
    """
    for i in range(len(offsets) - 1):
        at = starts[i] + used[i]
        for t in range(premise_offsets[i], premise_offsets[i + 1]):
            stamp[premise[t]] = 2 * i
        for t in range(offsets[i], offsets[i + 1]):
            word = hypothesis[t]
            if stamp[word] == 2 * i + 1:
                continue
            shared = stamp[word] == 2 * i
            stamp[word] = 2 * i + 1
            out[at] = np.int64(mixed(mixed(np.uint64(salt), np.uint64(shared)), keys[word]) & mask)
            at += 1
        used[i] = at - starts[i]


@njit(cache=True, nogil=True)
def overlap_counts(
    premise: Tokens, premise_offsets: Longs, hypothesis: Tokens, offsets: Longs, stamp: Longs
) -> tuple[Longs, Longs]:
    """Return per row how many distinct words of the hypothesis the premise has, and how many there are.

    `stamp` has a place for every word of the vocabulary, filled with -1. 3.4 × scipy's product of two sparse matrices.
    """
    n = len(offsets) - 1
    shared = np.zeros(n, np.int64)
    distinct = np.zeros(n, np.int64)
    for i in range(n):
        for t in range(premise_offsets[i], premise_offsets[i + 1]):
            stamp[premise[t]] = 2 * i
        for t in range(offsets[i], offsets[i + 1]):
            word = hypothesis[t]
            if stamp[word] != 2 * i + 1:
                shared[i] += stamp[word] == 2 * i
                distinct[i] += 1
                stamp[word] = 2 * i + 1
    return shared, distinct


@njit(cache=True, nogil=True)
def count_documents(slots: Tokens, starts: Longs, used: Longs, counted: Flags, frequency: Tokens) -> None:
    """Add how many of the counted rows have each hash; a hash that two blocks share may count twice.

    1.3 × numpy's `bincount`, which needs the places that are filled as a list of eight bytes each.
    """
    for i in range(len(starts)):
        if counted[i]:
            for t in range(starts[i], starts[i] + used[i]):
                frequency[slots[t]] += 1


@njit(cache=True, nogil=True)
def compact_rows(
    slots: Tokens,
    starts: Longs,
    used: Longs,
    column: Tokens,
    idf: Floats,
    indptr: Longs,
    indices: Tokens,
    values: Floats,
) -> int:
    """Write rows of numbered features with inverse-document-frequency values of length 1.

    `column[slot]` is the number of a kept hash, or -1. Returns how many entries were written. 1.9 × scikit-learn's
    TfidfTransformer, which needs the matrix of all hashes first.
    """
    at = 0
    for i in range(len(starts)):
        first = at
        square = 0.0
        for t in range(starts[i], starts[i] + used[i]):
            feature = column[slots[t]]
            if feature >= 0:
                indices[at] = feature
                values[at] = idf[feature]
                square += idf[feature] ** 2
                at += 1
        if square > 0:
            scale = 1 / np.sqrt(square)
            for t in range(first, at):
                values[t] *= scale
        indptr[i + 1] = at
    return at


@njit(cache=True, nogil=True)
def add_margins(
    indptr: Longs,
    indices: Tokens,
    values: Floats,
    share: float,
    rows: Longs,
    place: Tokens,
    weights: Floats,
    margins: Floats,
) -> None:
    """Add the products of some rows of features with weights to their margins.

    `place[feature]` is the row of a feature's weights, or -1 where they are nil.
    """
    k = weights.shape[1]
    for i in range(len(rows)):
        for t in range(indptr[rows[i]], indptr[rows[i] + 1]):
            at = place[indices[t]]
            if at >= 0:
                value = share * values[t]
                for j in range(k):
                    margins[i, j] += value * weights[at, j]


@njit(cache=True, nogil=True)
def line_step(p: Floats, q: Floats, margins: Floats, curvature: float) -> float:
    """Return how far to go from p to q so that entropy plus margins minus curvature grows most, within [0, 1].

    One Newton step from a first guess; more change nothing that a following epoch would not.
    """
    s = 1 / (1 + 0.5 * curvature)
    slope = -s * curvature
    bend = -curvature
    for j in range(len(p)):
        d = q[j] - p[j]
        now = p[j] + s * d
        if now > 0:
            slope += d * (margins[j] - np.log(now))
            bend -= d * d / now
    if bend >= 0:
        return s
    following = s - slope / bend
    if following <= 0:
        return 0.5 * s
    return min(following, 0.5 * (1 + s))


@njit(cache=True, nogil=True)
def softmax(margins: Floats, out: Floats) -> None:
    """Write the softmax of the margins."""
    top = margins[0]
    for j in range(1, len(margins)):
        top = max(top, margins[j])
    total = 0.0
    for j in range(len(margins)):
        out[j] = np.exp(margins[j] - top)
        total += out[j]
    for j in range(len(margins)):
        out[j] /= total


@njit(cache=True, nogil=True)
def divergence(p: Floats, q: Floats) -> float:
    """Return KL(p ‖ q) in nats: this example's part of the duality gap."""
    total = 0.0
    for j in range(len(p)):
        if p[j] > 0:
            total += p[j] * np.log(p[j] / max(q[j], 1e-300))
    return total


@njit(cache=True, nogil=True)
def multinomial_epoch(
    indptr: Longs,
    indices: Tokens,
    values: Floats,
    squares: Floats,
    weight: Floats,
    order: Longs,
    penalty: float,
    w: Floats,
    bias: Floats,
    dual: Floats,
) -> float:
    """Go once through the rows in `order`; return the duality gap as it was met on the way.

    `w` holds a row of class weights per feature, `bias` those of the constant 1 that every row has besides,
    `dual` a row of class probabilities per row of data; `squares` are the rows' squared lengths with the 1.
    """
    k = w.shape[1]
    margins, q = np.empty(k), np.empty(k)
    duals = dual.reshape(-1)
    gap = 0.0
    for at in range(len(order)):
        if at + 2 * AHEAD < len(order):
            far = order[at + 2 * AHEAD]
            prefetch(indptr, far)
            prefetch(squares, far)
            prefetch(weight, far)
            prefetch(duals, far * k)
        if at + AHEAD < len(order):
            near = order[at + AHEAD]
            prefetch_range(indices, indptr[near], indptr[near + 1])
            prefetch_range(values, indptr[near], indptr[near + 1])
        i = order[at]
        if k == 3:  # the commonest number of classes: three sums at once wait for each other less
            a, b, c = bias[0], bias[1], bias[2]
            for t in range(indptr[i], indptr[i + 1]):
                value, feature = values[t], indices[t]
                a += value * w[feature, 0]
                b += value * w[feature, 1]
                c += value * w[feature, 2]
            margins[0], margins[1], margins[2] = a, b, c
        else:
            for j in range(k):
                z = bias[j]
                for t in range(indptr[i], indptr[i + 1]):
                    z += values[t] * w[indices[t], j]
                margins[j] = z
        softmax(margins, q)
        p = dual[i]
        gap += weight[i] * divergence(p, q)
        length = 0.0
        for j in range(k):
            length += (q[j] - p[j]) ** 2
        s = line_step(p, q, margins, weight[i] / penalty * length * squares[i])
        for j in range(k):
            q[j] = s * (q[j] - p[j])
            p[j] += q[j]
            q[j] *= weight[i] / penalty
            bias[j] -= q[j]
        if k == 3:
            a, b, c = q[0], q[1], q[2]
            for t in range(indptr[i], indptr[i + 1]):
                value, feature = values[t], indices[t]
                w[feature, 0] -= value * a
                w[feature, 1] -= value * b
                w[feature, 2] -= value * c
        else:
            for j in range(k):
                step = q[j]
                for t in range(indptr[i], indptr[i + 1]):
                    w[indices[t], j] -= values[t] * step
    return gap


@njit(cache=True, nogil=True)
def within_epoch(
    indptr: Longs,
    indices: Tokens,
    values: Floats,
    first_row: Longs,
    weight: Floats,
    order: Longs,
    penalty: float,
    w: Floats,
    dual: Floats,
    scratch: Floats,
) -> float:
    """Go once through the examples in `order`; return the duality gap as it was met on the way.

    Example e has the rows from `first_row[e]` to `first_row[e + 1]`, of which one is right; `w` has a weight
    per feature, `dual` a probability per row, `scratch` a zero per feature.
    """
    widest = 0
    for e in range(len(first_row) - 1):
        widest = max(widest, first_row[e + 1] - first_row[e])
    all_margins, all_q = np.empty(widest), np.empty(widest)
    gap = 0.0
    for at in range(len(order)):
        if at + 2 * AHEAD < len(order):
            far = order[at + 2 * AHEAD]
            prefetch(first_row, far)
            prefetch(weight, far)
        if at + AHEAD < len(order):
            near = order[at + AHEAD]
            first, last = indptr[first_row[near]], indptr[first_row[near + 1]]
            prefetch_range(indices, first, last)
            prefetch_range(values, first, last)
            prefetch(dual, first_row[near])
        e = order[at]
        a, b = first_row[e], first_row[e + 1]
        margins, q = all_margins[: b - a], all_q[: b - a]
        for i in range(a, b):
            z = 0.0
            for t in range(indptr[i], indptr[i + 1]):
                z += values[t] * w[indices[t]]
            margins[i - a] = z
        softmax(margins, q)
        p = dual[a:b]
        gap += weight[e] * divergence(p, q)
        # The squared length of what the step adds to w: choices share features, so it is summed up first.
        for i in range(a, b):
            for t in range(indptr[i], indptr[i + 1]):
                scratch[indices[t]] += values[t] * (q[i - a] - p[i - a])
        square = 0.0
        for t in range(indptr[a], indptr[b]):
            square += scratch[indices[t]] ** 2
            scratch[indices[t]] = 0
        s = line_step(p, q, margins, weight[e] / penalty * square)
        for i in range(a, b):
            step = s * (q[i - a] - p[i - a])
            p[i - a] += step
            step *= weight[e] / penalty
            for t in range(indptr[i], indptr[i + 1]):
                w[indices[t]] -= values[t] * step
    return gap
