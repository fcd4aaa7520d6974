"""Cueness: how unevenly a feature's labels are spread in train, damped where test disagrees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats._arrays import probabilities, whole_counts
from cuecard.stats.arrays import Floats
from cuecard.stats.clusters.divergence import as_distributions, jensen_shannon


def cueness(
    train_counts: npt.ArrayLike,
    test_counts: npt.ArrayLike | None = None,
    *,
    prior: npt.ArrayLike | None = None,
    test_prior: npt.ArrayLike | None = None,
) -> Floats:
    """Cueness in percent of each feature, from its counts per label (rows: features, columns: labels).

    The "ICQ" paper's eq. 2, on proportions (as its Table 2 is, not on counts as printed):

        cueness = 100 · mean_l (p_l − 1/|L|)² / exp(JSD(train, test))

    p_l is the share of label l among the training instances that have the feature; JSD is the natural-log
    Jensen–Shannon divergence of the feature's train and test label distributions. Where nothing is known
    about test (no `test_counts`, or a feature with no test instance) JSD is 0. A feature with no train
    instance has no cueness: nan.

    A word seen 69 times with the right and 31 times with the wrong choice, in test just so and then reversed:

    >>> cueness([[69, 31], [69, 31], [0, 0]], [[138, 62], [31, 69], [5, 5]]).round(2)
    array([3.61, 3.35,  nan])
    >>> cueness([[69, 31]]).round(2)
    array([3.61])

    With `prior`, the share of every label of train, cueness is label-balanced: counts are divided by it first, so that
    a feature that says nothing has cueness 0 however many instances a label has. Test counts are divided by
    `test_prior`, which is the same by default. A label without any instance (prior 0) is left out. One of four choices
    is right:

    >>> cueness([[25, 75], [40, 60]], prior=[0.25, 0.75]).round(2)
    array([0.  , 2.78])
    """
    train = _label_counts("train_counts", train_counts)
    if prior is not None:
        present = np.asarray(prior, dtype=np.float64) > 0
        train = _balanced("prior", train, prior)[:, present]
        if not present.any():
            return np.full(len(train), np.nan)
    proportions = as_distributions("train_counts", train)
    strength = 100 * np.mean((proportions - 1 / train.shape[1]) ** 2, axis=1)
    if test_counts is None:
        return np.asarray(strength)
    test = _label_counts("test_counts", test_counts)
    if prior is not None and test.shape[1] == len(present):
        test = _balanced("test_prior", test, prior if test_prior is None else test_prior)[:, present]
    if test.shape != train.shape:
        raise ValueError(f"train_counts {train.shape} and test_counts {test.shape} must have the same shape")
    disagreement = np.where(test.sum(axis=1) > 0, jensen_shannon(train, test), 0.0)
    return np.asarray(strength / np.exp(disagreement))


def _balanced(name: str, counts: Floats, prior: npt.ArrayLike) -> Floats:
    """Counts divided by the label's share, 0 where a label has none."""
    share = probabilities(name, prior)
    if share.shape != (counts.shape[1],):
        raise ValueError(f"{name} must hold a share for each of the {counts.shape[1]} labels")
    return np.divide(counts, share, out=np.zeros(counts.shape), where=share > 0)


def _label_counts(name: str, counts: npt.ArrayLike) -> Floats:
    array = whole_counts(name, counts)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ValueError(
            f"{name} must be a table with a row per feature and a column for each of two or more labels"
        )
    return array
