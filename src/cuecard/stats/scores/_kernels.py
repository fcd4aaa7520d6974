"""Compiled loops over examples: sums by unit and stratum, without an array of floats for every example."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

#: Terms that are added up before they are added to the total, so that rounding errors do not grow with all.
BLOCK = 4_096
#: Scores this close are equal.
TIE = 1e-12


@njit(cache=True, nogil=True)
def sizes_of(codes: Array, n: int) -> Array:
    """Return how many examples have each code from 0 to n - 1."""
    sizes = np.zeros(n, dtype=np.int32)
    for i in range(len(codes)):
        sizes[codes[i]] += 1
    return sizes


@njit(cache=True, nogil=True)
def add_deviations(values: Array, mean: float, codes: Array, sums: Floats) -> None:
    """Add the deviations of values from their mean to the sums of their codes."""
    for i in range(len(values)):
        sums[codes[i]] += values[i] - mean


@njit(cache=True, nogil=True)
def add_by_code(values: Floats, codes: Array, sums: Floats) -> None:
    """Add values to the sums of their codes."""
    for i in range(len(values)):
        sums[codes[i]] += values[i]


@njit(cache=True, nogil=True)
def rank(
    scores: Floats,
    order: Array,
    rows: Array,
    codes: Array,
    label: int,
    weight: Floats,
    factor: float,
    influence: Floats,
) -> float:
    """Return the area under the ROC curve of a label, and add what every example adds to its deviation.

    `order` is that of rising scores, of the examples `rows`; `weight` has one number for all examples, or one for each.
    """
    n, equal = len(order), len(weight) == 1
    positives = negatives = 0.0
    for i in range(n):
        mass = weight[0] if equal else weight[rows[i]]
        if codes[rows[i]] == label:
            positives += mass
        else:
            negatives += mass
    area = 0.0
    for scoring in range(2):
        before = passed = 0.0  # negatives and positives of lower scores
        start = 0
        while start < n:
            end, above, below = start, 0.0, 0.0
            while end < n and (end == start or scores[order[end]] - scores[order[end - 1]] <= TIE):
                row = rows[order[end]]
                mass = weight[0] if equal else weight[row]
                if codes[row] == label:
                    above += mass
                else:
                    below += mass
                end += 1
            beaten = (before + below / 2) / negatives
            beating = (positives - passed - above / 2) / positives
            if scoring == 0:
                area += above * beaten
            else:
                for t in range(start, end):
                    row = rows[order[t]]
                    mass = weight[0] if equal else weight[row]
                    if codes[row] == label:
                        influence[row] += factor * mass * (beaten - area) / positives
                    else:
                        influence[row] += factor * mass * (beating - area) / negatives
            before += below
            passed += above
            start = end
        if scoring == 0:
            area /= positives
    return area


@njit(cache=True, nogil=True)
def label_sums(codes: Array, strata: Array, weight: Floats, n_strata: int, k: int) -> Floats:
    """Return the sums of the weights to the power of 0, 1, 2 and 3, by stratum and label."""
    sums = np.zeros((4, n_strata, k))
    equal = len(weight) == 1
    for i in range(len(codes)):
        mass = weight[0] if equal else weight[i]
        s, label = strata[i], codes[i]
        sums[0, s, label] += 1
        sums[1, s, label] += mass
        sums[2, s, label] += mass * mass
        sums[3, s, label] += mass * mass * mass
    return sums


@njit(cache=True, nogil=True)
def write_logs(row: Floats, shares: Floats, smallest: float, out: Floats) -> None:
    """Write the logs of the probabilities of an example, relative to what it would score with any label."""
    mean = 0.0
    for j in range(len(row)):
        out[j] = np.log(max(row[j], smallest))
        mean += out[j] * shares[j]
    for j in range(len(row)):
        out[j] -= mean


@njit(cache=True, nogil=True)
def score_sums(
    table: Array,
    codes: Array,
    strata: Array,
    weight: Floats,
    shares: Floats,
    smallest: float,
    sums: Floats,
) -> float:
    """Add the logs of every example to the sums of its stratum; return the score of all examples."""
    k, equal = table.shape[1], len(weight) == 1
    logs = np.empty(k)
    score = part = 0.0
    for i in range(len(codes)):
        write_logs(table[i], shares, smallest, logs)
        for j in range(k):
            sums[strata[i], j] += logs[j]
        part += logs[codes[i]] * (weight[0] if equal else weight[i])
        if i % BLOCK == BLOCK - 1:
            score += part
            part = 0.0
    return score + part


@njit(cache=True, nogil=True)
def score_moments(
    table: Array,
    codes: Array,
    strata: Array,
    weight: Floats,
    shares: Floats,
    smallest: float,
    means: Floats,
    labels: Floats,
    units: Array,
    own: Floats,
    spread: Floats,
) -> tuple[Floats, Floats, float]:
    """Return the variance and third moment of every stratum, and the sum of the squared variances of examples.

    `means` are those of the logs by stratum, and `labels` what `label_sums` returns. What every example adds to the
    score and to the variance is added to `own` and `spread` at the place of its unit.
    """
    n_strata, equal = len(means), len(weight) == 1
    variance, third = np.zeros(n_strata), np.zeros(n_strata)
    sizes = labels[0].sum(axis=1)
    left, marks = np.empty(table.shape[1]), mean_marks(labels)
    squares = part = 0.0
    for i in range(len(codes)):
        s = strata[i]
        write_logs(table[i], shares, smallest, left)
        along, second, cube = terms(left, means[s], marks[s], labels[:, s], sizes[s])
        unit = units[i]
        own[unit] += (weight[0] if equal else weight[i]) * left[codes[i]] - along
        if sizes[s] < 2:
            continue
        spread[unit] += second
        variance[s] += second
        third[s] += cube
        part += second * second
        if i % BLOCK == BLOCK - 1:
            squares += part
            part = 0.0
    scale_third(third, sizes)
    return variance, third, squares + part


@njit(cache=True, nogil=True)
def mean_marks(labels: Floats) -> Floats:
    """Return the mean marks of labels by stratum, of what `label_sums` returns."""
    marks: Floats = labels[1].copy()
    for s in range(len(marks)):
        marks[s] /= max(labels[0, s].sum(), 1.0)
    return marks


@njit(cache=True, nogil=True)
def terms(
    left: Floats, means: Floats, marks: Floats, labels: Floats, size: float
) -> tuple[float, float, float]:
    """Return what logs score with the mean marks, and what they add to variance and third moment of their stratum.

    `left` is made relative to the means of the stratum; `labels` are its sums of weights to several powers.
    """
    along = 0.0
    for j in range(len(left)):
        left[j] -= means[j]
        along += left[j] * marks[j]
    second = -size * along * along
    cube = -size * along * along * along
    for j in range(len(left)):
        second += labels[2, j] * left[j] * left[j]
        cube += left[j] * left[j] * (labels[3, j] * left[j] - 3 * labels[2, j] * along)
        cube += 3 * labels[1, j] * left[j] * along * along
    return along, second / max(size - 1, 1.0), cube


@njit(cache=True, nogil=True)
def scale_third(third: Floats, sizes: Floats) -> None:
    """Make the sums of cubes of strata their third moments; in place."""
    for s in range(len(third)):
        third[s] *= sizes[s] / ((sizes[s] - 1) * (sizes[s] - 2)) if sizes[s] > 2 else 0.0
