"""Compiled trees on distinct points with counts per label."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Bits = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Records = npt.NDArray[np.int32]

#: Poisson numbers of means up to this are drawn from a table; 64 outcomes hold all but 1e-12 of their mass.
TABLED = 20
OUTCOMES = 64

#: Nodes of at most this many records are sorted.
SORTED = 24

#: Multiplying a lone bit by this number brings its place to the top six bits.
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
PLACE_OF_BIT = np.zeros(64, dtype=np.int64)
for _place in range(64):
    PLACE_OF_BIT[((1 << _place) * int(DE_BRUIJN) & (2**64 - 1)) >> 58] = _place


@njit(cache=True, nogil=True, inline="always")
def _bits(state: Bits) -> Any:
    """Return 64 random bits (splitmix64); `state` is an array of one number."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _uniform(state: Bits) -> float:
    return float(_bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def poisson_table() -> tuple[Floats, Integers]:
    """Return Walker's alias tables of the Poisson laws of mean 0 … TABLED: where to stay, and where to go else."""
    stay = np.ones((TABLED + 1, OUTCOMES))
    other = np.zeros((TABLED + 1, OUTCOMES), dtype=np.int64)
    mass = np.empty(OUTCOMES)
    for mean in range(1, TABLED + 1):
        mass[0] = math.exp(-float(mean))
        for k in range(1, OUTCOMES):
            mass[k] = mass[k - 1] * mean / k
        mass *= OUTCOMES / mass.sum()
        settled = np.zeros(OUTCOMES, dtype=np.bool_)
        for _ in range(OUTCOMES - 1):
            small, large = -1, -1
            for k in range(OUTCOMES):
                if not settled[k]:
                    if small < 0 or mass[k] < mass[small]:
                        small = k
                    if large < 0 or mass[k] > mass[large]:
                        large = k
            settled[small] = True
            stay[mean, small] = mass[small]
            other[mean, small] = large
            mass[large] -= 1.0 - mass[small]
    return stay, other


@njit(cache=True, nogil=True)
def rejection_constants(means: Integers) -> Floats:
    """Return the constants a, b, 1/alpha, v_r and log mean of Hörmann's transformed rejection for every mean."""
    constants = np.zeros((len(means), 5))
    for i in range(len(means)):
        if means[i] > TABLED:
            b = 0.931 + 2.53 * math.sqrt(means[i])
            a = -0.059 + 0.02483 * b
            constants[i] = (
                a,
                b,
                1.1239 + 1.1328 / (b - 3.4),
                0.9277 - 3.6224 / (b - 2.0),
                math.log(means[i]),
            )
    return constants


@njit(cache=True, nogil=True)
def draw(
    means: Integers, stay: Floats, other: Integers, constants: Floats, state: Bits, drawn: Integers
) -> None:
    """Fill `drawn` with Poisson numbers: from the table for small means, by transformed rejection for others."""
    for i in range(len(means)):
        mean = means[i]
        if mean == 0:  # uses no random number, so that rows left out have no say at all
            drawn[i] = 0
        elif mean <= TABLED:
            bits = _bits(state)
            k = np.int64(bits >> np.uint64(58))
            u = float((bits << np.uint64(6)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)
            drawn[i] = k if u < stay[mean, k] else other[mean, k]
        else:
            drawn[i] = _large_poisson(mean, constants, i, state)


@njit(cache=True, nogil=True)
def _small_poisson(mean: float, state: Bits) -> int:
    """Return a Poisson number of a mean below 1, by counting arrivals; a mean of 0 uses no random number."""
    if mean <= 0.0:
        return 0
    k, left, end = 0, _uniform(state), math.exp(-mean)
    while left > end:
        k += 1
        left *= _uniform(state)
    return k


@njit(cache=True, nogil=True)
def _large_poisson(mean: int, constants: Floats, i: int, state: Bits) -> int:
    a, b, edge = constants[i, 0], constants[i, 1], constants[i, 3]
    while True:
        u = _uniform(state) - 0.5
        v = _uniform(state)
        us = 0.5 - abs(u)
        if us <= 0.0 or v <= 0.0:
            continue
        k = math.floor((2.0 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= edge:
            return int(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        accepted = -mean + k * constants[i, 4] - math.lgamma(k + 1.0)
        if math.log(v) + math.log(constants[i, 2]) - math.log(a / (us * us) + b) <= accepted:
            return int(k)


@njit(cache=True, nogil=True)
def forest(
    values: Floats,
    ranks: Integers,
    cells: Records,
    counts: Integers,
    rests: Floats,
    n_labels: int,
    held: Integers,
    trees: int,
    depth: int,
    tried: int,
    seed: np.uint64,
) -> Floats:
    """Return the mean leaf distribution over trees for the held-out points `held`.

    A cell is a point with one of its labels: a row (ranks of its features …, label) of `cells`, seen
    `counts` times, or of that weight with `rests` as the fractions beyond whole numbers (empty if there are none).
    Every tree is grown on Poisson(count) copies of each cell: the bootstrap of all rows up to its exact total,
    which a tree does not depend on. Held-out points are led down while the tree grows, and
    branches that none of them takes are not grown at all.
    """
    n, width = cells.shape
    state = np.array([np.uint64(seed)], dtype=np.uint64)
    stay, other = poisson_table()
    drawn = np.zeros(n, dtype=np.int64)
    constants = rejection_constants(counts)
    # Records hold a cell and its drawn weight; they are moved, not pointed to, so that nodes are read in a row.
    records = np.empty((n, width + 1), dtype=np.int32)
    guests = np.empty(len(held), dtype=np.int64)
    shares = np.zeros((len(held), n_labels))
    histogram = np.zeros((ranks.shape[1] + 1, n_labels))
    keys = np.empty(SORTED + 1, dtype=np.int64)
    occupied = np.zeros(ranks.shape[1] // 64 + 1, dtype=np.uint64)
    for _ in range(trees):
        size = 0
        draw(counts, stay, other, constants, state, drawn)
        for i in range(len(rests)):
            drawn[i] += _small_poisson(rests[i], state)
        for i in range(n):
            if drawn[i] > 0:
                for f in range(width):
                    records[size, f] = cells[i, f]
                records[size, width] = drawn[i]
                size += 1
        for j in range(len(held)):
            guests[j] = j
        if size > 0:
            _grow(
                values,
                ranks,
                records,
                size,
                held,
                guests,
                depth,
                tried,
                state,
                histogram,
                occupied,
                keys,
                shares,
            )
    return shares / trees


@njit(cache=True, nogil=True)
def _grow(
    values: Floats,
    ranks: Integers,
    records: Records,
    size: int,
    held: Integers,
    guests: Integers,
    depth: int,
    tried: int,
    state: Bits,
    histogram: Floats,
    occupied: Bits,
    keys: Integers,
    shares: Floats,
) -> None:
    """Grow one tree and add the distribution of the leaf that each guest ends in to `shares`."""
    n_features = ranks.shape[0]
    n_labels = shares.shape[1]
    # A branch waits on the stack while its sibling grows: at most one per level.
    stack = np.empty((min(depth, size) + 2, 5), dtype=np.int64)
    stack[0] = (0, size, 0, len(guests), 0)
    top = 1
    totals = np.empty(n_labels)
    left = np.empty(n_labels)
    features = np.arange(n_features)
    while top > 0:
        top -= 1
        start, end, first, last, level = stack[top]
        if first == last:
            continue
        totals[:] = 0.0
        for m in range(start, end):
            totals[records[m, n_features]] += records[m, n_features + 1]
        total = totals.sum()
        best, feature, cut, after = -1.0, -1, 0, 0
        if level < depth and end - start > 1 and totals.max() < total:
            for visited in range(n_features):
                if visited >= tried and feature >= 0:
                    break
                pick = visited + int(_uniform(state) * (n_features - visited))
                features[visited], features[pick] = features[pick], features[visited]
                f = features[visited]
                score, low, high = _best_cut(
                    f, records, start, end, totals, total, left, histogram, occupied, keys
                )
                if score > best:
                    best, feature, cut, after = score, f, low, high
        if feature < 0:
            for g in range(first, last):
                for k in range(n_labels):
                    shares[guests[g], k] += totals[k] / total
            continue
        middle = _part(records, start, end, feature, cut)
        # As in scikit-learn, a value between two seen ones goes to the nearer side.
        threshold = 0.5 * (values[feature, cut] + values[feature, after])
        parting = first
        for g in range(first, last):
            if values[feature, ranks[feature, held[guests[g]]]] <= threshold:
                guests[g], guests[parting] = guests[parting], guests[g]
                parting += 1
        stack[top] = (middle, end, parting, last, level + 1)
        stack[top + 1] = (start, middle, first, parting, level + 1)
        top += 2


@njit(cache=True, nogil=True)
def _part(records: Records, start: int, end: int, feature: int, cut: int) -> int:
    """Move the records up to a cut to the front; return where the others begin."""
    i, j = start, end - 1
    while True:
        while i <= j and records[i, feature] <= cut:
            i += 1
        while i <= j and records[j, feature] > cut:
            j -= 1
        if i >= j:
            return i
        for f in range(records.shape[1]):
            records[i, f], records[j, f] = records[j, f], records[i, f]


@njit(cache=True, nogil=True)
def _best_cut(
    f: int,
    records: Records,
    start: int,
    end: int,
    totals: Floats,
    total: float,
    left: Floats,
    histogram: Floats,
    occupied: Bits,
    keys: Integers,
) -> tuple[float, int, int]:
    """Return the best Gini cut of a node on one feature: its score (−1 if constant) and the ranks beside it.

    The score Σ_k left_k² / left + Σ_k right_k² / right grows as the weighted impurity falls. Both sums of squares
    are kept up to date while records move from right to left. Few records are sorted; many are counted by rank,
    with a bit for every rank that occurs, so that empty ones cost nothing.
    """
    n_labels = len(totals)
    label_at = records.shape[1] - 2
    size = end - start
    best, cut, after, previous = -1.0, -1, -1, -1
    left[:] = 0.0
    n_left, squares_left, squares_right = 0.0, 0.0, 0.0
    for k in range(n_labels):
        squares_right += totals[k] * totals[k]
    if size <= SORTED:
        for m in range(size):
            key = (np.int64(records[start + m, f]) << 32) | m
            p = m
            while p > 0 and keys[p - 1] > key:
                keys[p] = keys[p - 1]
                p -= 1
            keys[p] = key
        for p in range(size):
            r = int(keys[p] >> 32)
            if r > previous:
                if p > 0:
                    score = (squares_left * (total - n_left) + squares_right * n_left) / (
                        n_left * (total - n_left)
                    )
                    if score > best:
                        best, cut, after = score, previous, r
                previous = r
            m = start + (keys[p] & 0xFFFFFFFF)
            k = records[m, label_at]
            w = float(records[m, label_at + 1])
            n_left += w
            squares_left += w * (2.0 * left[k] + w)
            squares_right -= w * (2.0 * (totals[k] - left[k]) - w)
            left[k] += w
        return best, cut, after
    first_word, last_word = len(occupied), -1
    for m in range(start, end):
        r = records[m, f]
        histogram[r, records[m, label_at]] += records[m, label_at + 1]
        word = r >> 6
        occupied[word] |= np.uint64(1) << np.uint64(r & 63)
        first_word, last_word = min(first_word, word), max(last_word, word)
    for word in range(first_word, last_word + 1):
        bits = occupied[word]
        occupied[word] = np.uint64(0)
        while bits != np.uint64(0):
            lowest = bits & (~bits + np.uint64(1))
            bits ^= lowest
            r = word * 64 + PLACE_OF_BIT[(lowest * DE_BRUIJN) >> np.uint64(58)]
            if previous >= 0:
                score = (squares_left * (total - n_left) + squares_right * n_left) / (
                    n_left * (total - n_left)
                )
                if score > best:
                    best, cut, after = score, previous, r
            previous = r
            for k in range(n_labels):
                w = histogram[r, k]
                n_left += w
                squares_left += w * (2.0 * left[k] + w)
                squares_right -= w * (2.0 * (totals[k] - left[k]) - w)
                left[k] += w
                histogram[r, k] = 0.0
    return best, cut, after
