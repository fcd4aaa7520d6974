"""The three leakage features of pairs: of some of them, or the distinct ones and which pair has which."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.features.pair_graph.pairs import SentencePairs
from cuecard.features.pair_graph.space import whole_type
from cuecard.features.pair_graph.two_steps import TwoSteps
from cuecard.stats.arrays import chunks
from cuecard.stats.counted_forest import Points, points_in_parts


def leakage_rows(pairs: SentencePairs, steps: TwoSteps, rows: slice) -> npt.NDArray[np.int64]:
    """Return S1_freq, S2_freq and S1S2_inter of some of the pairs.

    A pair that is not counted in the graph gets the features it would have if it alone were added.
    """
    a, b = pairs.first[rows], pairs.second[rows]
    columns: list[npt.NDArray[Any]] = [pairs.frequency[a], pairs.frequency[b], steps.walks[rows]]
    table = np.column_stack(columns).astype(np.int64, copy=False)
    if pairs.counted is not None:
        alone = np.flatnonzero(~pairs.counted[rows])
        a, b, loops = a[alone], b[alone], pairs.loops
        table[alone, :2] += np.where(a == b, 2, 1)[:, None]
        # With A' = A + the pair itself: A'²[a, b] = A²[a, b] + A[a, a] + A[b, b], and (A[a, a] + 2)² if a = b.
        table[alone, 2] += np.where(a == b, 4 * loops[a] + 4, loops[a] + loops[b])
    return table


def leakage_points(pairs: SentencePairs, steps: TwoSteps) -> Points:
    """Return the distinct features in lexicographic order, and which of them every pair has."""
    index = pairs.space.array(whole_type(len(pairs)), len(pairs))
    return points_in_parts(((rows, leakage_rows(pairs, steps, rows)) for rows in chunks(len(pairs))), index)
