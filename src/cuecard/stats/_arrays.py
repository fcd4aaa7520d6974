"""Arrays as the statistics want them: checked once, converted to float64, broadcast."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats

Alternative = Literal["two-sided", "greater", "less"]


def whole_counts(name: str, values: npt.ArrayLike) -> Floats:
    """Return `values` as float64 after checking that they are whole, finite and not negative."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all() or (array < 0).any() or (array != np.floor(array)).any():
        raise ValueError(f"{name} must be whole numbers that are not negative")
    return array


def successes_of(k: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return successes k and trials n, broadcast against each other, after checking 0 ≤ k ≤ n."""
    successes, trials = np.broadcast_arrays(whole_counts("k", k), whole_counts("n", n))
    if (successes > trials).any():
        raise ValueError("k must not be larger than n: there cannot be more successes than trials")
    return successes, trials


def probabilities(name: str, values: npt.ArrayLike) -> Floats:
    """Return `values` as float64 after checking that they lie between 0 and 1 (nan passes)."""
    array = np.asarray(values, dtype=np.float64)
    if (array < 0).any() or (array > 1).any():
        raise ValueError(f"{name} must lie between 0 and 1")
    return array


def divided(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    """Return above / below, and nan where `below` is not positive."""
    top, bottom = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def level_of(level: float) -> float:
    """Return the confidence level after checking that it lies strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, for example 0.95, not {level}")
    return level


def chosen_tail(alternative: Alternative, log_less: Floats, log_greater: Floats) -> Floats:
    """Return the log p-value of an alternative from the logs of P(X ≤ k) and P(X ≥ k).

    Two-sided is twice the smaller tail, at most 1. Unlike the sum of all outcomes no likelier than the one
    seen, it needs no second root search in the other tail (where terms near 1e-100000 would be compared),
    never drops when the evidence weakens, and agrees with the Clopper–Pearson interval.
    """
    if alternative == "greater":
        return log_greater
    if alternative == "less":
        return log_less
    if alternative == "two-sided":
        return np.asarray(np.minimum(np.log(2.0) + np.minimum(log_less, log_greater), 0.0))
    raise ValueError(f'alternative must be "two-sided", "greater" or "less", and is "{alternative}"')
