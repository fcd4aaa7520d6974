"""A model's answers to the same questions with options in several orders: by content and by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import design_effects
from cuecard.stats.multiple_testing import holm

__all__ = ["PlacePreference", "flips", "place_preference"]


@dataclass(frozen=True)
class PlacePreference:
    """By how much a model answers each place more often than its answers by content explain; arrays follow places.

    `excess` is the share of answers at a place minus that expected if content alone decided. `p_value` is two-sided and
    adjusted over the places (Holm); 1 where no example has two answers with something else in that place.
    """

    answered: Floats
    expected: Floats
    excess: Floats
    low: Floats
    high: Floats
    p_value: Floats
    n: Ints


def place_preference(
    picked: npt.ArrayLike, shown: npt.ArrayLike, kinds: Sequence[npt.ArrayLike] = ()
) -> PlacePreference:
    """Test whether places draw answers, over examples that were asked in several orders.

    Within an example, if content alone decides, which option is picked does not depend on the order. So the expected
    share of a place is that of each option's picks times how often it stood there; in all or cyclic orders, one in
    the number of options. Examples are the independent units; the interval is Student's.

    Args:
        picked: examples × orders, the option that was picked; below 0 where there is no answer.
        shown: examples × orders × places, the option that stood in each place; below 0 where none did.
        kinds: codes of the units that examples share, one array per kind.

    >>> always_first = place_preference([[0, 1]] * 20, [[[0, 1], [1, 0]]] * 20)
    >>> always_first.excess.tolist()
    [0.5, -0.5]
    """
    options, places = np.asarray(picked, dtype=np.int64), np.asarray(shown, dtype=np.int64)
    n, _, width = places.shape
    answered = options >= 0
    count = answered.sum(axis=1)
    at = (places == options[:, :, None]) & answered[:, :, None]
    size = np.maximum(count, 1)[:, None]
    observed = at.sum(axis=1) / size
    expected, moved = np.zeros((n, width)), np.zeros((n, width), dtype=np.bool_)
    stands = answered[:, :, None] & (places >= 0)
    for option in range(int(places.max(initial=-1)) + 1):
        here = stands & (places == option)
        share = ((options == option) & answered).sum(axis=1)[:, None] / size
        standing = here.sum(axis=1) / size
        expected += share * standing
        moved |= (standing > 0) & (standing < 1)
    used = moved & (count >= 2)[:, None]
    figures = [_of_place(observed[:, k], expected[:, k], used[:, k], kinds) for k in range(width)]
    columns = [np.array([row[i] for row in figures]) for i in range(6)]
    answered_share, expected_share, excess, low, high, p_value = columns
    tested = used.sum(axis=0).astype(np.int64)
    return PlacePreference(answered_share, expected_share, excess, low, high, holm(p_value), tested)


def _of_place(
    observed: Floats, expected: Floats, used: Bools, kinds: Sequence[npt.ArrayLike]
) -> tuple[float, ...]:
    """Return answered, expected, excess, its interval and p-value of one place."""
    n = int(used.sum())
    if n < 2:
        return (float("nan"),) * 5 + (1.0,)
    difference = (observed - expected)[used]
    mean = float(difference.mean())
    # Examples that are all alike do not show that another one cannot differ: as if one more were at 0.
    square = float(((difference - mean) ** 2).sum() + mean**2) / (n - 1)
    coded = [np.unique(np.asarray(codes)[used], return_inverse=True)[1] for codes in kinds]
    effect = float(design_effects(difference - mean, np.ones((n, 1)), coded)[0])
    error = np.sqrt(square * effect / n)
    p_value = 1.0 if error == 0 else 2 * float(stdtr(n - 1, -abs(mean) / error))
    margin = float(stdtrit(n - 1, 0.975)) * error
    ends = max(mean - margin, -1.0), min(mean + margin, 1.0)
    return float(observed[used].mean()), float(expected[used].mean()), mean, *ends, p_value


def flips(picked: npt.ArrayLike) -> Floats:
    """How likely two random orders of each example have different answers; nan with fewer than two answers.

    >>> flips([[0, 0, 0], [0, 0, 1], [2, -1, -1]]).round(2).tolist()
    [0.0, 0.67, nan]
    """
    options = np.asarray(picked, dtype=np.int64)
    m = (options >= 0).sum(axis=1).astype(np.float64)
    same = np.zeros(len(options))
    for option in range(int(options.max(initial=-1)) + 1):
        times = (options == option).sum(axis=1)
        same += times * (times - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(m >= 2, 1 - same / (m * (m - 1)), np.nan)
