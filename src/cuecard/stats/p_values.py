"""p-values kept as natural logs, shown as people write them."""

from __future__ import annotations

import math

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
