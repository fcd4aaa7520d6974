"""Exact tests of counts that add up over examples or strata, each with its margins fixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats.arrays import Alternative, Floats, Ints, chosen_tail, divided, whole_counts


@dataclass(frozen=True, eq=False)
class WithinExampleTest:
    """What the informative examples say about each feature; one entry per feature in every array.

    An example is informative if some but not all of its rows have the feature. `observed` of the
    `informative` examples have it in the right row where chance alone gives `expected` ± √`variance`.
    `log_odds` is the conditional maximum likelihood estimate of the log odds ratio for a row to be right
    with the feature against without.
    """

    informative: Ints
    observed: Ints
    expected: Floats
    variance: Floats
    log_odds: Floats
    log_p_less: Floats
    log_p_greater: Floats

    @property
    def z(self) -> Floats:
        """(observed − expected) / √variance; nan where no example is informative."""
        return divided(self.observed - self.expected, np.sqrt(self.variance))

    def log_p(self, alternative: Alternative = "two-sided") -> Floats:
        """Natural logs of the exact p-values; two-sided is twice the smaller tail, at most 1."""
        return chosen_tail(alternative, self.log_p_less, self.log_p_greater)


def within_example_test(
    feature: npt.ArrayLike,
    k: npt.ArrayLike,
    m: npt.ArrayLike,
    n_examples: npt.ArrayLike,
    n_right: npt.ArrayLike,
    *,
    n_features: int | None = None,
) -> WithinExampleTest:
    """Exact conditional test of each feature from examples of k rows, one of them right, m with the feature.

    The arrays are parallel, in any order: `n_examples` examples have k rows of which m have `feature` (an
    index), and in `n_right` of them the right row is among the m. If the feature carries no information, each of the
    k rows is equally likely to be the right one, so

        P(the right row has the feature | m, k) = m / k

    and the count over examples is Poisson-binomial, whatever made m vary between examples. The binomial
    over rows is wrong here: rows of one example are not independent. With k = 2 this is the sign test,
    Binomial(N, ½). Tails are exact in log space by exponential tilting. Examples with m = 0 or m = k say
    nothing and are left out.

    Feature 0 sits in one of two rows in ten examples, nine times in the right one; feature 1 is never
    informative:

    >>> test = within_example_test([0, 0, 1], [2, 2, 2], [1, 2, 2], [10, 5, 3], [9, 5, 3])
    >>> test.observed, test.expected, test.z.round(2)
    (array([9, 0]), array([5., 0.]), array([2.53,  nan]))
    >>> np.exp(test.log_p("greater")).round(4), np.exp(test.log_p()).round(4)
    (array([0.0107, 1.    ]), array([0.0215, 1.    ]))
    """
    columns = [np.asarray(column) for column in (feature, k, m, n_examples, n_right)]
    if any(column.ndim != 1 or len(column) != len(columns[0]) for column in columns):
        raise ValueError("feature, k, m, n_examples and n_right must be flat arrays of the same length")
    if any(len(column) and not np.issubdtype(column.dtype, np.integer) for column in columns):
        raise ValueError("feature, k, m, n_examples and n_right must hold integers")
    features, rows, having, examples, right = (column.astype(np.int64) for column in columns)
    _check(features, rows, having, examples, right)
    size = int(features.max(initial=-1)) + 1 if n_features is None else n_features
    if len(features) and features.max() >= size:
        raise ValueError(f"feature must be below n_features, which is {size}")

    telling = (having > 0) & (having < rows) & (examples > 0)
    features, rows, having, examples, right = (
        column[telling] for column in (features, rows, having, examples, right)
    )
    chance = having / rows
    informative, observed = _sums(features, examples, size), _sums(features, right, size)
    expected, variance = np.zeros(size), np.zeros(size)
    np.add.at(expected, features, examples * chance)
    np.add.at(variance, features, examples * chance * (1 - chance))

    offsets, trials, chances = _distinct_chances(features, rows, having, examples, size)
    less, greater, log_odds = np.empty(size), np.empty(size), np.empty(size)
    _native.poisson_binomial_log_tails(observed, offsets, trials, chances, less, greater, log_odds)
    return WithinExampleTest(informative, observed, expected, variance, log_odds, less, greater)


def _check(features: Ints, rows: Ints, having: Ints, examples: Ints, right: Ints) -> None:
    if (features < 0).any():
        raise ValueError("feature must hold indices that are not negative")
    if (having < 0).any() or (having > rows).any():
        raise ValueError("m must lie between 0 and k: at most all k rows of an example have the feature")
    if (right < 0).any() or (right > examples).any():
        raise ValueError("n_right must lie between 0 and n_examples")
    if (right[having == 0] > 0).any() or (right < examples)[having == rows].any():
        raise ValueError("n_right must be 0 where m is 0 and n_examples where m is k")


def _sums(features: Ints, counts: Ints, size: int) -> Ints:
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, features, counts)
    return totals


def _distinct_chances(
    features: Ints, rows: Ints, having: Ints, examples: Ints, size: int
) -> tuple[Ints, Ints, Floats]:
    """One binomial for each feature and distinct m/k (2 of 4 is 1 of 2), as offsets, trials and chances."""
    shared = np.gcd(having, rows)
    above, below = having // shared, rows // shared
    order = np.lexsort((below, above, features))
    features, above, below, examples = features[order], above[order], below[order], examples[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(features) != 0) | (np.diff(above) != 0) | (np.diff(below) != 0)
    starts = np.flatnonzero(new)
    trials = np.add.reduceat(examples, starts) if len(starts) else np.empty(0, dtype=np.int64)
    offsets = np.searchsorted(features[starts], np.arange(size + 1))
    return offsets.astype(np.int64), trials, above[starts] / below[starts]


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
    drawn, marks, sizes = (np.ascontiguousarray(table) for table in (drawn, marks, sizes))
    _native.stratified_log_tails(np.ascontiguousarray(counts), drawn, marks, sizes, less, greater)
    return chosen_tail(alternative, less, greater)
