"""Counts of frequent features by class, where features × classes of all of them would not fit in memory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.features.family import Family, FeatureCounts, count_features
from cuecard.stats.arrays import Ints
from cuecard.text import Encoded, Tokens, presence_counts

#: With more classes than this, features are counted in total first, and by class only if they are frequent. Most
#: n-grams are rare: of 40,000 texts with 990 labels, all bigrams by label would take gigabytes.
MOST_CLASSES = 64
#: Features × classes of a family that are counted; the tests take about 150 bytes for each, 2 GB in all. Of more
#: features, the most frequent are kept: their counts and p-values are exact.
MOST_CELLS = 12_000_000
#: Of fewer classes, as many features are counted as of these: names and other numbers of a feature take memory, too.
FEW_CLASSES = 12


def frequent_counts(
    family: Family, data: Encoded, classes: npt.NDArray[np.int32], shape: tuple[int, int], minimum: int
) -> FeatureCounts:
    """Return the family's counts per class; with many classes, those of features with `minimum` training instances.

    `classes` are split × label as one number and `shape` says how many of both there are, train first.
    """
    n_splits, n_labels = shape
    n_classes = n_splits * n_labels
    if n_classes <= MOST_CLASSES or minimum <= 1:
        return count_features(family, data, classes, n_classes)
    in_total = count_features(family, data, classes // n_labels, n_splits)
    if in_total.ids is None or in_total.offsets is None:
        return count_features(family, data, classes, n_classes)
    at_least = raised_minimum(in_total.counts[:, 0], minimum, n_classes)
    kept = np.flatnonzero(in_total.counts[:, 0] >= at_least)
    code = np.full(len(in_total.counts), -1, dtype=np.int32)
    code[kept] = np.arange(len(kept), dtype=np.int32)
    ids = code[in_total.ids]
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(ids >= 0)])
    frequent = Tokens(ids[ids >= 0], before[in_total.offsets], in_total.names(kept))
    counts = presence_counts(frequent, classes, n_classes)
    raised = at_least if at_least > minimum else 0
    return FeatureCounts(frequent.vocabulary.gather, counts, frequent.ids, frequent.offsets, raised)


def raised_minimum(counts: Ints, minimum: int, n_classes: int) -> int:
    """Return how many training instances a feature needs, so that features × classes are not too many to test."""
    if minimum <= 1:  # a part of a larger set, or everything is asked for
        return minimum
    return _threshold(counts, minimum, MOST_CELLS // max(n_classes, FEW_CLASSES))


def _threshold(counts: Ints, minimum: int, most: int) -> int:
    """Return the smallest count, `minimum` or more, that at most `most` features reach."""
    enough = np.sort(counts[counts >= minimum])[::-1]
    return minimum if len(enough) <= most else int(enough[most]) + 1
