"""Labels that may be wrong: strong models agree on another answer, which fits as a key better than the key."""

from __future__ import annotations

import numpy as np

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.preferences.item_response import fit_items, item_response

#: Share of the models above the median that must agree on another answer than the key.
AGREED = 0.6


def suspect_labels(answers: Ints, correct: Floats, gold: Ints) -> tuple[Ints, Ints, Floats, Floats, Floats]:
    """Return suspect examples, the other answer, how many strong models agree on it, and both discriminations.

    Args:
        answers: examples × models, the position of every answer; below 0 where there is none.
        correct: examples × models, 1 where the answer is the key.
        gold: the key of every example.

    As a key, the other answer must discriminate better: the abler a model, the likelier it gives it.
    """
    fit = item_response(correct.T)
    strong = fit.ability >= np.median(fit.ability)
    options = int(answers.max(initial=0)) + 1
    votes = np.stack([(answers[:, strong] == k).mean(axis=1) for k in range(options)], axis=1)
    other = votes.argmax(axis=1)
    agreed = votes[np.arange(len(votes)), other]
    candidates = np.flatnonzero((other != gold) & (agreed >= AGREED))
    as_key, _ = fit_items((answers[candidates] == other[candidates, None]).T, fit.ability)
    better = as_key > fit.discrimination[candidates]
    which = candidates[better]
    return which, other[which], agreed[which], fit.discrimination[which], as_key[better]
