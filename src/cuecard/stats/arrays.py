"""Types of arrays, checks of arguments, and sums that do not depend on chunks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native

P = ParamSpec("P")
T = TypeVar("T")
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]
#: Small whole numbers of any size: labels, folds, units.
Codes = npt.NDArray[np.integer[Any]]
#: Numbers of any type.
Array = npt.NDArray[Any]
#: A dense table, or a sparse matrix of scipy, which ships no types.
Matrix: TypeAlias = Any

#: Entries of long arrays that are looked at at a time.
CHUNK = 1 << 20


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Yield the chunks of an array of n entries, each of bounded size."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


@contextmanager
def arrays_in_files(folder: Path | None, least: int) -> Iterator[None]:
    """Have new arrays of at least so many bytes be files of a folder, which are mapped and have no names.

    The system takes their pages back where memory is short. This holds for all of numpy in the body, and in `Threads`
    that it starts; without a folder, and on other systems than Linux, arrays are in memory.
    """
    if folder is None or sys.platform != "linux":
        yield
        return
    before = _native.keep_arrays(_native.array_files(os.fsencode(folder), least))
    try:
        yield
    finally:
        _native.keep_arrays(before)


class Threads(ThreadPoolExecutor):
    """Threads whose large arrays are where those of the thread are that gives them work."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Return the promise of what a function returns."""
        context = copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))


def counted(codes: Codes, n: int = 0) -> Ints:
    """Return how many entries have each number from 0, at least n of them; `numpy.bincount` would copy small numbers.

    >>> counted(np.array([0, 2, 2], dtype=np.int8), 4)
    array([1, 0, 2, 0])
    """
    counts = np.zeros(max(n, int(codes.max()) + 1 if len(codes) else 0), dtype=np.int64)
    for chunk in chunks(len(codes)):
        if len(counts) > CHUNK:  # another table of that size for each chunk would take more time and memory
            np.add.at(counts, codes[chunk], 1)
        else:
            counts += np.bincount(codes[chunk], minlength=len(counts))
    return counts


def follows(numbers: Codes) -> bool:
    """Return whether numbers, which need not rise, follow each other without a gap; False where there are none."""
    n = len(numbers)
    if not n or int(numbers[-1]) - int(numbers[0]) != n - 1:
        return False
    return all(bool((np.diff(numbers[chunk.start : chunk.stop + 1]) == 1).all()) for chunk in chunks(n))


def rows_where(n: int, found: Callable[[slice], Bools]) -> Ints:
    """Return the rows out of n for which `found` is true, which is asked about some rows at a time.

    >>> rows_where(4, lambda some: np.arange(some.start, some.stop) % 2 == 1)
    array([1, 3])
    """
    rows = [chunk.start + np.flatnonzero(found(chunk)) for chunk in chunks(n)]
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


def whole_type(largest: int) -> type[np.signedinteger[Any]]:
    """Return the smaller type of whole numbers that holds numbers up to the largest."""
    return np.int32 if largest < 1 << 31 else np.int64


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


def sum_of_column(values: Floats, index: Array) -> float:
    """Return `values[index].sum()`, without that array.

    Numpy halves long arrays, the first half a multiple of eight, and adds the sums of both; and so does this.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> values, index = rng.random(1000), rng.integers(0, 1000, 3_000_000)
    >>> sum_of_column(values, index) == float(values[index].sum())
    True
    """
    n = len(index)
    if n <= CHUNK:
        return float(values[index].sum())
    half = n // 2 - n // 2 % 8
    return sum_of_column(values, index[:half]) + sum_of_column(values, index[half:])


def sum_of_rows(values: Floats, index: Array) -> float:
    """Return the sum of `values[index]` one after the other, as numpy adds up the rows of a table."""
    total = 0.0
    for rows in chunks(len(index)):
        total = float(np.cumsum(np.concatenate([[total], values[index[rows]]]))[-1])
    return total
