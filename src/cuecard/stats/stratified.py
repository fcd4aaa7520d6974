"""The exact test of a count that adds up over strata, each with its margins fixed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats._arrays import Alternative, chosen_tail, whole_counts
from cuecard.stats.arrays import Floats


def stratified_hypergeometric_log_p(
    k: npt.ArrayLike,
    n: npt.ArrayLike,
    marked: npt.ArrayLike,
    size: npt.ArrayLike,
    alternative: Alternative = "two-sided",
) -> Floats:
    """Natural log of the exact p-value of each total count k, given the margins of its strata.

    Row i is one test, its columns are the strata: stratum s has size[i, s] instances, marked[i, s] of them
    marked, and n[i, s] of them drawn. If drawing has nothing to do with the mark, the number of marked
    among the drawn is a sum of hypergeometric counts, and k[i] is compared with that. With one stratum this
    is Fisher's exact test. Tails are exact in log space by exponential tilting; two-sided is twice the
    smaller tail, at most 1.

    Five of six drawn are marked where half of twelve are; and the same seen in two strata:

    >>> np.exp(stratified_hypergeometric_log_p([5], [[6]], [[6]], [[12]], "greater")).round(4)
    array([0.04])
    >>> np.exp(stratified_hypergeometric_log_p([10], [[6, 6]], [[6, 6]], [[12, 12]], "greater")).round(4)
    array([0.0021])
    """
    counts = whole_counts("k", k).astype(np.int64)
    drawn, marks, sizes = (
        whole_counts(name, values).astype(np.int64, order="C")
        for name, values in (("n", n), ("marked", marked), ("size", size))
    )
    if (
        drawn.ndim != 2
        or drawn.shape != marks.shape
        or drawn.shape != sizes.shape
        or len(counts) != len(drawn)
    ):
        raise ValueError("n, marked and size must be tables of the same shape, with a row for each k")
    if (drawn > sizes).any() or (marks > sizes).any():
        raise ValueError("n and marked must not exceed size: a stratum cannot hold more than all of it")
    fewest, most = np.maximum(drawn + marks - sizes, 0).sum(axis=1), np.minimum(drawn, marks).sum(axis=1)
    if (counts < fewest).any() or (counts > most).any():
        raise ValueError("k must be a count that the margins n, marked and size allow")
    less, greater = np.empty(len(counts)), np.empty(len(counts))
    strata = (np.ascontiguousarray(table) for table in (drawn, marks, sizes))
    _native.stratified_log_tails(np.ascontiguousarray(counts), *strata, less, greater)
    return chosen_tail(alternative, less, greater)
