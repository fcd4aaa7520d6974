"""p-values in log space, and their correction for many tests."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats

#: Digits and signs as they are written in an exponent.
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def log10_p(log_p: npt.ArrayLike) -> Floats:
    """Base-10 logs of p-values given as natural logs.

    >>> log10_p(np.log([0.1, 0.001])).round(6)
    array([-1., -3.])
    """
    return np.asarray(np.asarray(log_p, dtype=np.float64) / math.log(10))


def state_probability(symbol: str, value: float) -> str:
    """Write a p-value or q-value that is not kept as a log; one that a float rounded to zero is small, not zero.

    >>> state_probability("p", 2.2e-19), state_probability("q", 0.31), state_probability("q", 0.0)
    ('p = 2.2×10⁻¹⁹', 'q = 0.31', 'q < 10⁻³⁰⁰')
    """
    return f"{symbol} < 10⁻³⁰⁰" if value == 0 else f"{symbol} = {format_p(math.log10(value))}"


def format_p(log10_p: float, digits: int = 2) -> str:
    """Write a p-value as text with `digits` significant digits, from its base-10 log, however small it is.

    >>> format_p(math.log10(0.0312)), format_p(-761.54), format_p(0.0)
    ('0.031', '2.9×10⁻⁷⁶²', '1')
    """
    if digits < 1:
        raise ValueError(f"digits must be at least 1, and is {digits}")
    if math.isnan(log10_p):
        return "nan"
    if log10_p > 0:
        raise ValueError("log10_p must not be positive: it is the base-10 log of a p-value")
    if log10_p == -math.inf:
        return "0"
    exponent = math.floor(log10_p)
    mantissa = round(10 ** (log10_p - exponent), digits - 1)
    if mantissa >= 10:
        mantissa, exponent = mantissa / 10, exponent + 1
    if exponent >= 0:
        return "1"
    if exponent >= -3:
        return f"{mantissa * 10.0**exponent:.{digits - 1 - exponent}f}"
    return f"{mantissa:.{digits - 1}f}×10{str(exponent).translate(SUPERSCRIPTS)}"


Method = Literal["bh", "by"]


def log_q_values(
    log_p: npt.ArrayLike,
    method: Method = "bh",
    *,
    least_log_p: npt.ArrayLike | None = None,
    alpha: float = 0.05,
) -> Floats:
    """Natural logs of the q-values of natural-log p-values, in the same order and shape.

    Benjamini–Hochberg ("bh"):  q_(i) = min_{j ≥ i} p_(j) m / j  over the m p-values in rising order, capped
    at 1; Benjamini–Yekutieli ("by") multiplies by Σ 1/i and holds under any dependence. Working on logs
    keeps apart p-values that a float would round to 0. A nan (not tested) stays nan and is not counted.

    With `least_log_p`, the smallest log p-value that each test could have reached, tests that cannot be significant at
    `alpha` whatever the data say do not count against the others (see `can_be_significant`); their q-value is 1.

    >>> (log_q_values(np.array([-1000.0, -2000.0, np.nan])) / np.log(10)).round(2)
    array([-434.29, -868.29,     nan])
    """
    array = np.asarray(log_p, dtype=np.float64)
    if (array > 0).any():
        raise ValueError("log_p must not be positive: it holds natural logs of p-values")
    if method not in ("bh", "by"):
        raise ValueError(f'method must be "bh" or "by", and is "{method}"')
    flat = array.ravel()
    counted = ~np.isnan(flat)
    result = np.full(flat.shape, np.nan)
    if least_log_p is not None:
        least = np.broadcast_to(np.asarray(least_log_p, dtype=np.float64), array.shape).ravel()
        hopeful = can_be_significant(np.where(counted, least, np.nan), alpha)
        result[counted & ~hopeful] = 0.0
        counted &= hopeful
    tested = np.flatnonzero(counted)
    m = len(tested)
    if m:
        order = tested[np.argsort(flat[tested], kind="stable")]
        ranks = np.arange(1, m + 1)
        penalty = np.log(np.sum(1 / ranks)) if method == "by" else 0.0
        scaled = flat[order] + np.log(m / ranks) + penalty
        result[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 0.0)
    return result.reshape(array.shape)


def can_be_significant(least_log_p: npt.ArrayLike, alpha: float = 0.05) -> npt.NDArray[np.bool_]:
    """Which tests can be significant at all when this number is made (Tarone 1990; Gilbert 2005).

    A discrete test has a smallest attainable p-value: five instances out of five, each of probability ½, reach 2 · ½⁵
    and no less. K is the smallest number such that at most K tests can reach α / K; only those are tested. A nan (not
    tested) is not counted.

    >>> can_be_significant(np.log([0.0625, 0.0001, 0.02, 0.03]))
    array([False,  True,  True, False])
    """
    least = np.asarray(least_log_p, dtype=np.float64)
    finite = np.sort(least[~np.isnan(least)])
    if not len(finite):
        return np.zeros(least.shape, dtype=np.bool_)
    bounds = np.log(alpha) - np.log(np.arange(1, len(finite) + 1))
    # A p-value at the bound counts as reaching it, whatever its last digit.
    within = np.searchsorted(finite, bounds + 1e-12, side="right")
    bound = bounds[int(np.argmax(within <= np.arange(1, len(finite) + 1)))]
    return np.asarray(least <= bound + 1e-12)


def q_values_of_selected(
    q: Mapping[str, npt.ArrayLike], smallest: Mapping[str, float], alpha: float = 0.05
) -> dict[str, Floats]:
    """q-values that hold over several families of tests, from those within each (Benjamini and Bogomolov 2014).

    The smallest q-value of a family is Simes' p-value of the claim that it holds nothing. Of S families, R are
    selected by these (Benjamini–Hochberg at `alpha`), and q-values within a selected family are multiplied by S / R:
    the expected false discovery rate, averaged over the selected families, is then at most `alpha`. A family that is
    not selected has at least its own q-value among the families. Thousands of words that say nothing thus cost a
    baseline one family more, not thousands of tests.

    Args:
        q: q-values within each family, of the tests to judge.
        smallest: the smallest q-value of every family, including families without a test to judge.
        alpha: level at which families are selected.

    >>> judged = q_values_of_selected({"cues": [0.001, 0.03], "clusters": [0.2]}, {"cues": 0.001, "clusters": 0.2})
    >>> judged["cues"].round(3), judged["clusters"].round(3)
    (array([0.002, 0.06 ]), array([0.4]))
    """
    if not smallest:
        return {}
    with np.errstate(divide="ignore"):
        least = q_values(np.log(list(smallest.values())))
    of_family = dict(zip(smallest, least.tolist(), strict=True))
    selected = max(int((least <= alpha).sum()), 1)
    factor = len(smallest) / selected
    return {
        name: np.minimum(np.maximum(np.asarray(values, np.float64) * factor, of_family[name]), 1.0)
        for name, values in q.items()
    }


def q_values(
    log_p: npt.ArrayLike,
    method: Method = "bh",
    *,
    least_log_p: npt.ArrayLike | None = None,
    alpha: float = 0.05,
) -> Floats:
    """q-values of natural-log p-values (see `log_q_values`); those below 1e-308 come out as 0.

    >>> q_values(np.log([0.01, 0.02, 0.5]))
    array([0.03, 0.03, 0.5 ])
    """
    return np.asarray(np.exp(log_q_values(log_p, method, least_log_p=least_log_p, alpha=alpha)))


def holm(p: npt.ArrayLike) -> Floats:
    """Return p-values corrected by Holm's step-down method: the chance of any false one is at most their level.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    scaled = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(scaled, 1.0)
    return corrected
