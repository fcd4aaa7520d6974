"""Compiled loops that lay out points on a map."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

#: Halvings of the search for a point's scale: far more than the digits of a number.
HALVINGS = 60


@njit(cache=True, nogil=True)
def neighbour_shares(distances: Array, perplexity: float) -> Array:
    """Return for every point how near its neighbours are: shares that sum to one, as even as the perplexity says."""
    n, k = distances.shape
    shares = np.empty((n, k), dtype=np.float64)
    wanted = np.log(perplexity)
    for i in range(n):
        scale, low, high = 1.0, 0.0, np.inf
        least = distances[i].min()
        for _ in range(HALVINGS):
            total = weighted = 0.0
            for j in range(k):
                shares[i, j] = np.exp(-scale * (distances[i, j] - least))
                total += shares[i, j]
                weighted += shares[i, j] * (distances[i, j] - least)
            entropy = np.log(total) + scale * weighted / total
            if abs(entropy - wanted) < 1e-6:
                break
            if entropy > wanted:
                low = scale
                scale = scale * 2 if np.isinf(high) else (scale + high) / 2
            else:
                high = scale
                scale = (scale + low) / 2
        shares[i] /= total
    return shares


@njit(cache=True, nogil=True, fastmath=True, error_model="numpy")
def _repel(x: Array, y: Array, push_x: Array, push_y: Array) -> float:
    """Write how far all points push each one away; return the sum of all similarities on the map."""
    n = len(x)
    total = np.float64(0)
    for i in range(n):
        near = np.float32(0)
        right = np.float32(0)
        up = np.float32(0)
        for j in range(n):
            across = x[i] - x[j]
            along = y[i] - y[j]
            alike = np.float32(1) / (np.float32(1) + across * across + along * along)
            near += alike
            right += alike * alike * across
            up += alike * alike * along
        total += near - 1
        push_x[i] = right
        push_y[i] = up
    return total


@njit(cache=True, nogil=True)
def descend(
    places: Array,
    starts: Array,
    columns: Array,
    joint: Array,
    steps: int,
    early: int,
    exaggeration: float,
    rate: float,
) -> None:
    """Move points on a map until those that are near in space are near on it; in place.

    `joint` are similarities in space in compressed rows; during the first `early` steps they count `exaggeration`-fold.
    """
    n = len(places)
    x, y = places[:, 0].copy(), places[:, 1].copy()
    push_x, push_y = np.empty_like(x), np.empty_like(y)
    move = np.zeros((n, 2), dtype=np.float32)
    gain = np.ones((n, 2), dtype=np.float32)
    for step in range(steps):
        momentum = np.float32(0.5 if step < early else 0.8)
        times = np.float32(exaggeration if step < early else 1.0)
        total = np.float32(_repel(x, y, push_x, push_y))
        old_x, old_y = x.copy(), y.copy()
        for i in range(n):
            pull_x = np.float32(0)
            pull_y = np.float32(0)
            for place in range(starts[i], starts[i + 1]):
                across = old_x[i] - old_x[columns[place]]
                along = old_y[i] - old_y[columns[place]]
                force = times * joint[place] / (np.float32(1) + across * across + along * along)
                pull_x += force * across
                pull_y += force * along
            slopes = (
                np.float32(4) * (pull_x - push_x[i] / total),
                np.float32(4) * (pull_y - push_y[i] / total),
            )
            for axis in range(2):
                slope = slopes[axis]
                if slope * move[i, axis] < 0:
                    gain[i, axis] += np.float32(0.2)
                else:
                    gain[i, axis] = max(gain[i, axis] * np.float32(0.8), np.float32(0.01))
                move[i, axis] = momentum * move[i, axis] - np.float32(rate) * gain[i, axis] * slope
            x[i] += move[i, 0]
            y[i] += move[i, 1]
    places[:, 0] = x
    places[:, 1] = y
