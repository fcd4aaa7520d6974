"""Replication of cues in a second sample, and shrinkage of the strongest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py, xlogy

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
        effective_again: the effective sample size of the second sample, where texts repeat.

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


def held_interval(
    corrected: ShrunkShares,
    share: npt.ArrayLike,
    n: npt.ArrayLike,
    again: npt.ArrayLike,
    n_again: npt.ArrayLike,
) -> tuple[Floats, Floats]:
    """Return the interval of shares over a first sample, in which they were picked, and a second one.

    The first sample is worth what the interval of its corrected share tells. The correction may pull a rare strong
    share too far to the others, so that the interval includes that of the uncorrected shares.

    Args:
        corrected: shares in the first sample, corrected for selection, with their intervals.
        share: the same, uncorrected.
        n: instances they rest on.
        again: shares in the second sample, at the chance level of the first.
        n_again: instances there.
    """
    size, worth = np.asarray(n, np.float64), np.asarray(n_again, np.float64)
    spread = np.maximum(corrected.high - corrected.low, 1e-9) / (2 * 1.959964)
    told = np.minimum(size, corrected.share * (1 - corrected.share) / spread**2)
    ends = []
    for first, rests_on in ((corrected.share, told), (np.asarray(share, np.float64), size)):
        total = np.maximum(rests_on + worth, 1e-300)
        pooled = np.where(worth > 0, (first * rests_on + np.nan_to_num(again) * worth) / total, first)
        ends.append(_interval(pooled, total))
    (low, high), (uncorrected_low, uncorrected_high) = ends
    return np.minimum(low, uncorrected_low), np.maximum(high, uncorrected_high)


#: True shares that the distribution may hold, at the middle of equal bins.
_GRID = (np.arange(100) + 0.5) / 100
#: Rounds of expectation–maximisation. Few of them keep the distribution smooth: run to its end, it gathers on a few
#: points, and intervals of selected features cover 88 % instead of 93 % (means change by less than .01).
_ROUNDS = 20
#: A few imagined features with any share keep a distribution of few real ones from gathering on those: 5 of them.
_IMAGINED = 5.0
#: Features that tell a distribution together, at least; those of similar size join where they are fewer.
_FEWEST = 100
#: With this many instances luck is small beside what people read off a share, which is left as it is.
ENOUGH = 512


@dataclass(frozen=True, eq=False)
class ShrunkShares:
    """Shares corrected for selection: the posterior mean and its equal-tailed interval, one per feature."""

    share: Floats
    low: Floats
    high: Floats


def shrunk_shares(k: npt.ArrayLike, n: npt.ArrayLike) -> ShrunkShares:
    """Return the shares k/n of many features with 95 % intervals, corrected for picking the highest of them.

    The distribution of true shares is estimated without assuming a shape (expectation–maximisation on a grid),
    separately for features with about as many instances, since frequent words deviate less than rare ones. Give all
    features tested, not the selected ones. Features with at least `ENOUGH` instances keep their share and its Wilson
    interval.

    Args:
        k: instances of the label, per feature.
        n: instances, per feature; at least one each.

    >>> rng = np.random.default_rng(0)
    >>> k = np.append(rng.binomial(10, 0.5, 5_000), 9)  # 5,000 features at chance, and one with 9 of 10
    >>> corrected = shrunk_shares(k, np.full(5_001, 10))
    >>> bool(corrected.share[-1] < 0.6)  # what looked like 90 % is luck
    True
    """
    hits, sizes = (np.asarray(values, dtype=np.float64) for values in (k, n))
    if (sizes <= 0).any() or (hits < 0).any() or (hits > sizes).any():
        raise ValueError("Every feature needs at least one instance and no more hits than instances.")
    share = hits / sizes
    low, high = (np.array(end, dtype=np.float64) for end in wilson(hits, sizes))
    for here in _bands(sizes):
        key = (hits[here] * ENOUGH + sizes[here]).astype(np.int64)
        rows, place, times = np.unique(key, return_inverse=True, return_counts=True)
        k_, n_ = (rows // ENOUGH).astype(np.float64), (rows % ENOUGH).astype(np.float64)
        posterior = _posteriors(k_, n_, times.astype(np.float64))
        share[here] = (posterior * _GRID).sum(axis=1)[place]
        low[here] = _quantile(posterior, 0.025)[place]
        high[here] = _quantile(posterior, 0.975)[place]
    # The estimated distribution is taken as known, which makes its intervals a little short: those of a share of the
    # same size without it are never shorter (intervals of selected cues cover 92 % instead of 90 %).
    plain_low, plain_high = wilson(np.minimum(np.rint(share * sizes), sizes), sizes)
    return ShrunkShares(share, np.minimum(low, plain_low), np.maximum(high, plain_high))


def _bands(sizes: Floats) -> list[npt.NDArray[np.int64]]:
    """Return the features with about as many instances, doubling from one band to the next; sparse bands join."""
    doublings = np.floor(np.log2(sizes))
    bands: list[npt.NDArray[np.int64]] = []
    for band in np.unique(doublings[sizes < ENOUGH]):
        here = np.flatnonzero((doublings == band) & (sizes < ENOUGH))
        if bands and min(len(bands[-1]), len(here)) < _FEWEST:
            bands[-1] = np.concatenate([bands[-1], here])
        else:
            bands.append(here)
    return bands


def _posteriors(k: Floats, n: Floats, times: Floats) -> Floats:
    """Return the distribution of the true share for every distinct (k, n): rows × grid."""
    log_likelihood = xlogy(k[:, None], _GRID) + xlog1py((n - k)[:, None], -_GRID)
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    prior = np.full(len(_GRID), 1 / len(_GRID))
    for _ in range(_ROUNDS):
        joint = likelihood * prior
        # No matrix product: the number of threads must not change the last digit.
        mass = (joint * (times / joint.sum(axis=1))[:, None]).sum(axis=0) + _IMAGINED / len(_GRID)
        prior = mass / mass.sum()
    joint = likelihood * prior
    posterior: Floats = joint / joint.sum(axis=1, keepdims=True)
    return posterior


def _quantile(posterior: Floats, tail: float) -> Floats:
    """Return the share below which this much of each row's mass lies, within a bin in proportion."""
    width = 1 / len(_GRID)
    total = np.cumsum(posterior, axis=1)
    bin_ = np.minimum((total < tail).sum(axis=1), len(_GRID) - 1)
    rows = np.arange(len(posterior))
    below = np.where(bin_ > 0, total[rows, bin_ - 1], 0.0)
    inside = np.clip((tail - below) / np.maximum(posterior[rows, bin_], 1e-300), 0.0, 1.0)
    ends: Floats = (bin_ + inside) * width
    return ends
