"""Which examples partial input gives away: solved, and at a confidence at which it is rarely wrong."""

from __future__ import annotations

import numpy as np

from cuecard.stats.arrays import Bools, Floats

#: Examples are compared with others of about the same confidence: smallest size and largest number of the classes.
CLASS_SIZE, CLASSES = 50, 10


def given_away(solved: Floats, confidence: Floats, chance: float) -> Bools:
    """Return which examples a solver answers correctly because it can tell, not by luck.

    A solver without any information solves its share of examples, too. So an example counts if it is solved, and the
    *other* examples of about the same confidence are solved often: at least half of the way from chance to always. An
    example's own outcome has no part in that estimate.

    Args:
        solved: 1 where the solver names the right answer, 0 where not, a fraction where answers tie.
        confidence: probability that the solver gives to its answer.
        chance: accuracy of a guess.

    >>> import numpy as np
    >>> sure = np.r_[np.full(100, 0.9), np.full(100, 0.5)]
    >>> right = np.r_[np.ones(95), np.zeros(5), np.tile([1.0, 0.0], 50)]
    >>> given_away(right, sure, 0.5).sum()
    np.int64(95)
    """
    n = len(solved)
    classes = max(1, min(CLASSES, n // CLASS_SIZE))
    edges = np.unique(np.quantile(confidence, np.arange(1, classes) / classes)) if n else np.empty(0)
    group = np.searchsorted(edges, confidence, side="right")
    total, size = np.bincount(group, weights=solved), np.bincount(group)
    others = (total[group] - solved) / np.maximum(size[group] - 1, 1)
    return np.asarray((solved >= 1) & (others >= chance + (1 - chance) / 2))
