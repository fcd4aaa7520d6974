"""Examples whose hypotheses share a number are compared hypothesis by hypothesis, in any order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.data.fingerprint import Hashes
from cuecard.data.units._kernels import rising_order
from cuecard.stats.arrays import Bools, Ints

Array = npt.NDArray[Any]


class Inputs(NamedTuple):
    """The texts of examples by number: equal ones have one number, and different ones never the same.

    `first` is the first row of every example, and the number of rows at the end; `premise` and `hypothesis` have a
    number for every row. Without `premise`, only hypotheses are compared.
    """

    first: Ints
    hypothesis: Hashes
    premise: Hashes | None = None

    def same(self, ones: Ints, others: Ints) -> Bools:
        """Return which pairs of examples have the same premise and the same hypotheses, in any order."""
        same = np.ones(len(ones), dtype=np.bool_)
        if self.premise is not None:
            same = self.premise[self.first[ones]] == self.premise[self.first[others]]
        same[same] = _same(ones[same], others[same], self.first, self.hypothesis)
        return same

    def told_apart(self, keys: Hashes, examples: Ints) -> Ints:
        """Return a number for every example that those of the same texts share, and no others: 0, 1, 2, …

        `keys` are numbers of these examples that those of the same texts share, and hardly ever others.
        """
        order = rising_order(np.ascontiguousarray(keys))
        before, after = order[:-1], order[1:]
        sharing = keys[before] == keys[after]
        same = sharing.copy()
        same[sharing] = self.same(examples[before[sharing]], examples[after[sharing]])
        codes = np.empty(len(keys), dtype=np.int64)
        codes[order] = np.concatenate([[0], np.cumsum(~same)])[: len(order)]
        if (sharing & ~same).any():
            self._join_equal(codes, keys, examples)
        return codes

    def _join_equal(self, codes: Ints, keys: Hashes, examples: Ints) -> None:
        """Give examples of the same texts one code where others of their key are between them; in place."""
        values, times = np.unique(keys, return_counts=True)
        known: dict[tuple[int, int, bytes], int] = {}
        for place in np.flatnonzero(np.isin(keys, values[times > 1])):
            start, end = (int(row) for row in self.first[examples[place] : examples[place] + 2])
            premise = 0 if self.premise is None else int(self.premise[start])
            content = np.sort(self.hypothesis[start:end]).tobytes()
            codes[place] = known.setdefault((int(keys[place]), premise, content), int(codes[place]))
        codes[:] = np.unique(codes, return_inverse=True)[1]


@njit(cache=True, nogil=True)
def _same(ones: Array, others: Array, first: Array, hypothesis: Array) -> Array:
    same = np.empty(len(ones), dtype=np.bool_)
    for i in range(len(ones)):
        a, b = first[ones[i]], first[others[i]]
        size = first[ones[i] + 1] - a
        same[i] = size == first[others[i] + 1] - b
        if not same[i]:
            continue
        if size == 1:
            same[i] = hypothesis[a] == hypothesis[b]
        else:
            same[i] = np.array_equal(np.sort(hypothesis[a : a + size]), np.sort(hypothesis[b : b + size]))
    return same
