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
        again: share in the second sample, at the chance level of the first.
        share: share over both samples, at the chance level of the first: it lies between `again` and the first share.
        low, high: its Wilson interval.
    """

    outcome: npt.NDArray[np.int8]
    again: Floats
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
    *,
    chance_again: npt.ArrayLike | None = None,
    effective_again: npt.ArrayLike | None = None,
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
        chance_again: the same in the second sample, where it differs: a share keeps its odds relative to chance.
        effective_again: how many independent instances those of the second sample are worth, where texts repeat.

    >>> replication([0.9, 0.9, 0.9, 0.9], 50, [45, 20, 2, 2], [50, 50, 50, 3], 0.5).named()
    ['holds', 'vanishes', 'reverses', 'open']
    """
    first, size, k, m, base, there, worth = np.broadcast_arrays(
        *(
            np.asarray(values, dtype=np.float64)
            for values in (
                *(share, n, k_again, n_again, chance),
                chance if chance_again is None else chance_again,
                n_again if effective_again is None else effective_again,
            )
        )
    )
    if (k > m).any() or (k < 0).any():
        raise ValueError("The second sample has more instances with the label than instances.")
    seen = k / np.maximum(m, 1)
    low, high = _interval(seen, worth)
    expected = at_chance(first, base, there)
    above = expected >= there
    half = there + KEPT * (expected - there)
    lost = np.where(above, high < half, low > half)
    beyond = np.where(above, high < there, low > there)
    same = np.where(above, low > there, high < there)
    outcome = np.select([beyond, lost, same & (m > 0)], [2, 1, 0], default=3).astype(np.int8)
    again = at_chance(seen, there, base)
    total = size + worth
    pooled = np.where(m > 0, (first * size + again * worth) / np.maximum(total, 1e-300), first)
    return Replication(outcome, again, pooled, *_interval(pooled, total))


def at_chance(share: npt.ArrayLike, chance: npt.ArrayLike, other: npt.ArrayLike) -> Floats:
    """Return shares as they would be at another chance level: the odds relative to chance stay, so 0 and 1 do, too.

    Where a chance level is unknown, 0 or 1, shares stay as they are.

    >>> at_chance([0.5, 0.75, 1.0], 0.5, 0.25).round(3).tolist()
    [0.25, 0.5, 1.0]
    """
    p, here, there = np.broadcast_arrays(
        *(np.asarray(values, dtype=np.float64) for values in (share, chance, other))
    )
    known = (here > 0) & (here < 1) & (there > 0) & (there < 1) & (here != there)
    here, there = np.where(known, here, 0.5), np.where(known, there, 0.5)
    favour, against = p * there * (1 - here), (1 - p) * here * (1 - there)
    return np.where(known, favour / (favour + against), p)


def _interval(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return Wilson's interval of shares of n instances, which need not be whole; a share lies in its interval."""
    size = np.rint(np.nan_to_num(n))
    low, high = wilson(np.rint(np.nan_to_num(share) * size), size)
    return np.minimum(low, share), np.maximum(high, share)
