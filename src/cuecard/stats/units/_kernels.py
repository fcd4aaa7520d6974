"""Compiled loops over the rows of units and over the tails of weighted sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Array = npt.NDArray[Any]


@njit(cache=True, nogil=True)
def repeated_sums(
    ids: Array, offsets: Array, order: Array, bounds: Array, weights: Array, n_types: int, n_bins: int
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return for every type what its rows add up to within units.

    Rows `order[bounds[u]:bounds[u + 1]]` are unit u; the types of row i are `ids[offsets[i]:offsets[i + 1]]`, of which
    repeats count once. Returned are the number of units with the type, the sum over them of (summed weight)², and by
    bin b of the number m of their rows with the type (2^b ≤ m < 2^(b+1)) how many units there are and their sum of m²;
    at last the number of rows with the type, and the sum over them of the rows of their units.
    """
    units = np.zeros(n_types, dtype=np.int64)
    all_rows = np.zeros(n_types, dtype=np.int64)
    squares = np.zeros(n_types)
    crossed = np.zeros(n_types)
    many = np.zeros((n_types, n_bins), dtype=np.int64)
    rows_squared = np.zeros((n_types, n_bins))
    last_row = np.full(n_types, -1, dtype=np.int64)
    last_unit = np.full(n_types, -1, dtype=np.int64)
    rows = np.zeros(n_types, dtype=np.int64)
    mass = np.zeros(n_types)
    touched = np.empty(n_types, dtype=np.int64)
    for unit in range(len(bounds) - 1):
        used = 0
        size = bounds[unit + 1] - bounds[unit]
        for place in range(bounds[unit], bounds[unit + 1]):
            row = order[place]
            for j in range(offsets[row], offsets[row + 1]):
                type_ = ids[j]
                if last_row[type_] == row:
                    continue
                last_row[type_] = row
                if last_unit[type_] != unit:
                    last_unit[type_] = unit
                    rows[type_] = 0
                    mass[type_] = 0.0
                    touched[used] = type_
                    used += 1
                rows[type_] += 1
                mass[type_] += weights[row]
        for i in range(used):
            type_ = touched[i]
            m = rows[type_]
            b = 0
            while m >> (b + 1) > 0 and b + 1 < n_bins:
                b += 1
            units[type_] += 1
            all_rows[type_] += m
            squares[type_] += mass[type_] ** 2
            crossed[type_] += m * size
            many[type_, b] += 1
            rows_squared[type_, b] += m * m
    return units, squares, many, rows_squared, all_rows, crossed


@njit(cache=True, nogil=True)
def _generated(
    t: float, values: Array, shares: Array, scales: Array, counts: Array
) -> tuple[float, float, float]:
    """Return the cumulant generating function of the sum at t, and its first two derivatives."""
    total, first, second = 0.0, 0.0, 0.0
    for b in range(len(counts)):
        if counts[b] == 0:
            continue
        tau = t * scales[b]
        top = max(tau * values[0], tau * values[-1])
        mass, mean, square = 0.0, 0.0, 0.0
        for j in range(len(values)):
            part = shares[j] * np.exp(tau * values[j] - top)
            mass += part
            mean += part * values[j]
            square += part * values[j] * values[j]
        mean /= mass
        square /= mass
        total += counts[b] * (np.log(mass) + top)
        first += counts[b] * scales[b] * mean
        second += counts[b] * scales[b] * scales[b] * max(square - mean * mean, 0.0)
    return total, first, second


@njit(cache=True, nogil=True)
def saddle_points(
    sums: Array, values: Array, shares: Array, scales: Array, counts: Array, r: Array, u: Array
) -> None:
    """Write the signed root r and the standardised saddle point u of every sum; nan where the sum is an extreme one.

    Row f is a sum of independent draws of the rising `values` with probability `shares`: `counts[f, b]` draws, each
    multiplied by `scales[f, b]`. 0 stands for a sum that is (nearly) its mean.
    """
    for f in range(len(sums)):
        _, mean, variance = _generated(0.0, values, shares, scales[f], counts[f])
        gap = sums[f] - mean
        r[f], u[f] = 0.0, 0.0
        if variance <= 0 or abs(gap) < 1e-6 * np.sqrt(variance):
            continue
        sign = 1.0 if gap > 0 else -1.0
        far = sign * 1e-3 / np.sqrt(variance)
        reached = False
        for _ in range(60):
            slope = _generated(far, values, shares, scales[f], counts[f])[1]
            if sign * (slope - sums[f]) >= 0:
                reached = True
                break
            far *= 2.0
        if not reached:
            r[f], u[f] = np.nan, np.nan
            continue
        near, t = 0.0, far / 2
        for _ in range(100):
            k, slope, curve = _generated(t, values, shares, scales[f], counts[f])
            if sign * (slope - sums[f]) >= 0:
                far = t
            else:
                near = t
            step = t - (slope - sums[f]) / curve if curve > 0 else (near + far) / 2
            lowest, highest = min(near, far), max(near, far)
            new = step if lowest < step < highest else (near + far) / 2
            if abs(new - t) <= 1e-10 * abs(t):
                t = new
                break
            t = new
        k, slope, curve = _generated(t, values, shares, scales[f], counts[f])
        r[f] = sign * np.sqrt(max(2 * (t * sums[f] - k), 0.0))
        u[f] = t * np.sqrt(curve)
