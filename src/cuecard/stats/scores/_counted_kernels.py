"""Compiled loops over examples that share what they add: cells by stratum, point and label, one after the other.

They add up in the order of `_kernels`, example by example, so that sums are the same to the last digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.stats.scores._kernels import BLOCK, mean_marks, scale_third, terms, write_logs

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@njit(cache=True, nogil=True)
def point_logs(table: Floats, tested: Bools, shares: Floats, smallest: float) -> Floats:
    """Return the logs of the probabilities of every tested point, relative to what it would score with any label."""
    logs = np.zeros_like(table)
    for point in range(len(table)):
        if tested[point]:
            write_logs(table[point], shares, smallest, logs[point])
    return logs


@njit(cache=True, nogil=True)
def score_sums(cell: Array, logs: Floats, tested: Bools, points: int, sums: Floats) -> float:
    """Add the logs of every tested example to the sums of its stratum; return the score of all of them."""
    k = logs.shape[1]
    score = part = 0.0
    done = 0
    for i in range(len(cell)):
        point = cell[i] // k
        if not tested[point]:
            continue
        for j in range(k):
            sums[point // points, j] += logs[point, j]
        part += logs[point, cell[i] - point * k]
        if done % BLOCK == BLOCK - 1:
            score += part
            part = 0.0
        done += 1
    return score + part


@njit(cache=True, nogil=True)
def point_terms(
    logs: Floats, tested: Bools, points: int, means: Floats, labels: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return what an example of a cell adds to the score, and one of a point to variance and third moment.

    `means` are those of the logs by stratum, and `labels` what `label_sums` returns.
    """
    own, second, cube = np.zeros_like(logs), np.zeros(len(logs)), np.zeros(len(logs))
    sizes, marks, left = labels[0].sum(axis=1), mean_marks(labels), np.empty(logs.shape[1])
    for point in range(len(logs)):
        if not tested[point]:
            continue
        s = point // points
        left[:] = logs[point]
        along, variance, third = terms(left, means[s], marks[s], labels[:, s], sizes[s])
        own[point] = left - along
        if sizes[s] > 1:
            second[point], cube[point] = variance, third
    return own, second, cube


@njit(cache=True, nogil=True)
def moments(
    cell: Array, k: int, tested: Bools, points: int, second: Floats, cube: Floats, sizes: Floats
) -> tuple[Floats, Floats, float]:
    """Return the variance and third moment of every stratum, and the sum of the squared variances of examples."""
    variance, third = np.zeros(len(sizes)), np.zeros(len(sizes))
    squares = part = 0.0
    done = 0
    for i in range(len(cell)):
        point = cell[i] // k
        if not tested[point]:
            continue
        variance[point // points] += second[point]
        third[point // points] += cube[point]
        part += second[point] * second[point]
        if done % BLOCK == BLOCK - 1:
            squares += part
            part = 0.0
        done += 1
    scale_third(third, sizes)
    return variance, third, squares + part


@njit(cache=True, nogil=True)
def unit_sums(
    cell: Array, unit: Array, tested: Bools, own: Floats, second: Floats, n_units: int
) -> tuple[Array, Floats, Floats]:
    """Return how many tested examples every unit has, and sums of what they add to the score and to its variance."""
    size = np.zeros(n_units, dtype=np.int32)
    owns, spreads = np.zeros(n_units), np.zeros(n_units)
    k = own.shape[1]
    for i in range(len(cell)):
        point = cell[i] // k
        if tested[point]:
            size[unit[i]] += 1
            owns[unit[i]] += own[point, cell[i] - point * k]
            spreads[unit[i]] += second[point]
    return size, owns, spreads


@njit(cache=True, nogil=True)
def add_by_cell(cell: Array, unit: Array, values: Floats, sums: Floats) -> None:
    """Add a value that the examples of a cell share to the sums of units."""
    for i in range(len(cell)):
        sums[unit[i]] += values[cell[i]]
