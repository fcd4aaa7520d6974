"""A model asked in several ways: with parts of the input, and with options in several orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtr, stdtrit

from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import design_effects
from cuecard.stats.multiple_testing import holm

__all__ = ["PlacePreference", "error_kappa", "flips", "place_preference", "recovered_share"]

Kinds = Sequence[npt.ArrayLike]
_Z = float(ndtri(0.975))


def recovered_share(
    part: npt.ArrayLike, full: npt.ArrayLike, chance: npt.ArrayLike, kinds: Kinds = ()
) -> tuple[float, float, float]:
    """The share of full-input accuracy above chance that a part of the input recovers, with its 95 % interval.

    (A_part − c) / (A_full − c). The interval is Fieller's, for a ratio of means of the same examples, wider where
    examples share units; its ends are nan where the full input is not surely above chance.

    Args:
        part: whether the model is right with the part, per example.
        full: the same with the full input.
        chance: the accuracy at chance, per example or one for all.
        kinds: codes of the units that examples share, one array per kind.

    >>> share, low, high = recovered_share([1] * 50 + [0] * 50, [1] * 75 + [0] * 25, 0.25)
    >>> round(share, 3), round(low, 3), round(high, 3)
    (0.5, 0.329, 0.661)
    """
    level = np.asarray(chance, dtype=np.float64)
    a, b = (np.asarray(right, dtype=np.float64) - level for right in (part, full))
    n, top, bottom = len(a), float(a.mean()), float(b.mean())
    if n < 2 or bottom == 0:
        return float("nan"), float("nan"), float("nan")
    ratio = top / bottom
    effect = _effect(a - ratio * b, kinds)
    t2 = _Z**2 * effect / n
    (aa, ab), (_, bb) = np.cov(a, b)
    square, linear, constant = bottom**2 - t2 * bb, top * bottom - t2 * ab, top**2 - t2 * aa
    if bottom < 0 or square <= 0:
        return ratio, float("nan"), float("nan")
    root = np.sqrt(max(linear**2 - square * constant, 0.0))
    return ratio, float((linear - root) / square), float((linear + root) / square)


def error_kappa(
    correct_a: npt.ArrayLike, correct_b: npt.ArrayLike, kinds: Kinds = ()
) -> tuple[float, float, float]:
    """Cohen's κ of two models' errors, with its 95 % interval: do they fail on the same examples?

    1: always on the same ones; 0: as often together as their accuracies make them (Geirhos et al. 2020). nan where
    one of them is always right or always wrong.

    >>> error_kappa([1, 1, 0, 0], [1, 1, 0, 0])[0], error_kappa([1, 1, 0, 0], [1, 0, 1, 0])[0]
    (1.0, 0.0)
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (correct_a, correct_b))
    p, q, same = float(x.mean()), float(y.mean()), (x == y).astype(np.float64)
    if p in (0.0, 1.0) or q in (0.0, 1.0):
        return float("nan"), float("nan"), float("nan")
    observed, expected = float(same.mean()), p * q + (1 - p) * (1 - q)
    kappa = (observed - expected) / (1 - expected)
    # How κ changes with every example.
    influence = (
        (same - observed) * (1 - expected) - (1 - observed) * ((2 * q - 1) * (x - p) + (2 * p - 1) * (y - q))
    ) / (1 - expected) ** 2
    error = float(np.sqrt(influence.var() / len(x) * _effect(influence, kinds)))
    return kappa, max(kappa - _Z * error, -1.0), min(kappa + _Z * error, 1.0)


def _effect(influence: npt.NDArray[Any], kinds: Kinds) -> float:
    """The design effect of the mean of how every example moves a figure."""
    return float(design_effects(influence - influence.mean(), np.ones((len(influence), 1)), kinds)[0])


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
