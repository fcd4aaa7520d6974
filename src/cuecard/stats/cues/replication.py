"""Does a share found in one sample hold in another?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats
from cuecard.stats.intervals import wilson

#: What a second sample says about a share that lies above (or below) chance in the first: it lies on the same side and
#: keeps at least half of the distance; it surely lost more than half of it; it lies on the other side; too few
#: instances to tell.
Outcome = Literal["holds", "vanishes", "reverses", "open"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
#: A share that keeps less than this part of its distance to chance has vanished.
KEPT = 0.5


@dataclass(frozen=True, eq=False)
class Replication:
    """What a second sample says about many shares, and both samples together.

    Attributes:
        outcome: index into `OUTCOMES`, one per share.
        share: share over both samples.
        low, high: its Wilson interval.
    """

    outcome: npt.NDArray[np.int8]
    share: Floats
    low: Floats
    high: Floats

    def named(self) -> list[Outcome]:
        """Return the outcomes by name."""
        return [OUTCOMES[code] for code in self.outcome]


def replication(
    share: npt.ArrayLike,
    n: npt.ArrayLike,
    k_again: npt.ArrayLike,
    n_again: npt.ArrayLike,
    chance: npt.ArrayLike,
) -> Replication:
    """Return whether shares of a first sample hold in a second one.

    The verdict needs the second sample's whole interval: a share has vanished if the interval excludes half of the
    first sample's distance from chance, reversed if it lies beyond chance altogether, and holds if it excludes chance
    on the same side and does not exclude that half.

    Args:
        share: shares in the first sample, best corrected for selection (`shrunk_shares`).
        n: instances they rest on; effective ones where texts repeat.
        k_again: instances with the label in the second sample.
        n_again: instances in the second sample.
        chance: share where nothing is given away.

    >>> replication([0.9, 0.9, 0.9, 0.9], 50, [45, 20, 2, 2], [50, 50, 50, 3], 0.5).named()
    ['holds', 'vanishes', 'reverses', 'open']
    """
    first, size, k, m, base = np.broadcast_arrays(
        *(np.asarray(values, dtype=np.float64) for values in (share, n, k_again, n_again, chance))
    )
    if (k > m).any() or (k < 0).any():
        raise ValueError("The second sample has more instances with the label than instances.")
    low, high = wilson(k, m)
    above = first >= base
    half = base + KEPT * (first - base)
    lost = np.where(above, high < half, low > half)
    beyond = np.where(above, high < base, low > base)
    same = np.where(above, low > base, high < base)
    outcome = np.select([beyond, lost, same & (m > 0)], [2, 1, 0], default=3).astype(np.int8)
    hits, total = np.rint(first * size) + k, np.rint(size) + m
    both_low, both_high = wilson(hits, total)
    return Replication(outcome, hits / np.maximum(total, 1e-300), both_low, both_high)
