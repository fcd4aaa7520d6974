"""Compiled loops over integer tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuecard._compiled import njit

Array = Any


@njit(cache=True, nogil=True)
def shared_content_words(
    premise: Array, premise_offsets: Array, hypothesis: Array, hypothesis_offsets: Array, content: Array
) -> tuple[Array, Array]:
    """Return per row how many distinct content words the hypothesis shares with the premise, and has in all."""
    n = len(premise_offsets) - 1
    shared = np.zeros(n, dtype=np.int64)
    total = np.zeros(n, dtype=np.int64)
    in_premise = np.full(len(content), -1, dtype=np.int64)
    counted = np.full(len(content), -1, dtype=np.int64)
    for row in range(n):
        for i in range(premise_offsets[row], premise_offsets[row + 1]):
            in_premise[premise[i]] = row
        for i in range(hypothesis_offsets[row], hypothesis_offsets[row + 1]):
            word = hypothesis[i]
            if content[word] and counted[word] != row:
                counted[word] = row
                total[row] += 1
                if in_premise[word] == row:
                    shared[row] += 1
    return shared, total
