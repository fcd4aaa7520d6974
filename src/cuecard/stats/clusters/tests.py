"""Whether one cluster's labels differ from the whole set's, exactly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp

from cuecard.stats._arrays import whole_counts
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.stratified import stratified_hypergeometric_log_p

#: Tables are counted one by one up to this many for a cluster.
MOST_TABLES = 300_000


def cluster_log_p(counts: npt.ArrayLike) -> Floats:
    """Natural log of the exact p-value that a cluster's labels are a random draw from the whole set.

    `counts` has a row per cluster and a column per label; the rows together are the whole set. Given how many
    instances each cluster and each label has, random labels make a row multivariate hypergeometric, and the
    p-value adds up all rows that are no more likely than the one seen (Fisher's test with more than two labels).
    Where the possible rows are too many to go through, each label is tested against the others by Fisher's exact
    test, and the smallest p-value is multiplied by the number of labels: never too small, a little less powerful.

    >>> np.exp(cluster_log_p([[3, 0, 0], [0, 3, 3]])).round(4)
    array([0.0357, 0.0357])
    """
    table = whole_counts("counts", counts).astype(np.int64)
    if table.ndim != 2:
        raise ValueError("counts must be a table of clusters × labels")
    table = table[:, table.sum(axis=0) > 0]
    totals = table.sum(axis=0)
    if table.shape[1] < 2 or len(table) < 2:
        return np.zeros(len(table))
    # The label with most instances costs nothing: it follows from the others.
    order = np.argsort(totals, kind="stable")
    table, totals = table[:, order], totals[order]
    sizes = table.sum(axis=1)
    possible = np.prod(np.minimum(sizes[:, None], totals[:-1]) + 1.0, axis=1)
    log_p = np.zeros(len(table))  # a cluster without instances says nothing
    factorial = np.asarray(gammaln(np.arange(int(totals.sum()) + 1) + 1.0))
    few = possible <= MOST_TABLES
    for i in np.flatnonzero(few & (sizes > 0)):
        log_p[i] = _by_enumeration(table[i], totals, factorial)
    if not few.all():
        log_p[~few] = _by_label(table[~few], totals)
    return log_p


def _by_enumeration(row: Ints, totals: Ints, factorial: Floats) -> float:
    """Sum the probabilities of all rows of this size that are no more likely than this one."""
    size, whole = int(row.sum()), int(totals.sum())

    def ways(total: int, drawn: Ints) -> Floats:
        return np.asarray(factorial[total] - factorial[drawn] - factorial[total - drawn])

    axes = [np.arange(min(size, int(total)) + 1) for total in totals[:-1]]
    drawn = np.zeros((1,) * len(axes), dtype=np.int64)
    log_weight = np.zeros((1,) * len(axes))
    for i, (axis, total) in enumerate(zip(axes, totals[:-1], strict=True)):
        shape = tuple(-1 if j == i else 1 for j in range(len(axes)))
        drawn = drawn + axis.reshape(shape)
        log_weight = log_weight + ways(int(total), axis).reshape(shape)
    left = size - drawn
    fits = (left >= 0) & (left <= totals[-1])
    log_weight = log_weight[fits] + ways(int(totals[-1]), left[fits])
    seen = sum(float(ways(int(total), np.asarray(x))) for total, x in zip(totals, row, strict=True))
    # A table that is as likely as the one seen may come out a rounding error above it.
    as_unlikely = log_weight[log_weight <= seen + 1e-9 * max(1.0, abs(seen))]
    return min(0.0, float(logsumexp(as_unlikely)) - float(ways(whole, np.asarray(size))))


def _by_label(table: Ints, totals: Ints) -> Floats:
    """Bonferroni over Fisher's exact test of each label against the others."""
    n_labels = len(totals)
    sizes = np.repeat(table.sum(axis=1), n_labels)
    log_p = stratified_hypergeometric_log_p(
        table.ravel(),
        sizes[:, None],
        np.tile(totals, len(table))[:, None],
        np.full((len(sizes), 1), int(totals.sum())),
    )
    smallest = log_p.reshape(table.shape).min(axis=1)
    return np.asarray(np.minimum(smallest + np.log(n_labels), 0.0))
