"""Which rows of a table filters keep, a bit per row and remembered by filter; and the rows of a page in an order."""

from __future__ import annotations

import operator
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.web.explore.stored import Mask, Rows, Table

#: A column, a comparison and a value.
Condition = tuple[str, str, str]
Bits = npt.NDArray[np.uint8]

_COMPARE: Mapping[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "=": (pc.equal, operator.eq),
    "<": (pc.less, operator.lt),
    "<=": (pc.less_equal, operator.le),
    ">": (pc.greater, operator.gt),
    ">=": (pc.greater_equal, operator.ge),
}
#: Rows that are looked at together, so that no large array is made on the way.
_BLOCK = 1 << 17
#: Where filters keep at most this many rows, all of them are put in order and remembered.
FEW = 1 << 16


class Remembered:
    """What filters computed, by what they were; the results that were not used for longest are forgotten."""

    #: Bytes that an entry takes beside its array.
    OVERHEAD = 1 << 10

    def __init__(self, most_bytes: int = 24 << 20, at_once: int = 2) -> None:
        self.most_bytes = most_bytes
        # What a filter needs for a moment is not needed by all threads at once, nor kept by each of them.
        self.working = ThreadPoolExecutor(at_once, thread_name_prefix="filters")
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, npt.NDArray[Any]] = OrderedDict()
        self._bytes = 0

    def of(self, key: Any, make: Callable[[], npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the array of a key, made where it is not remembered."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        array = make()
        with self._lock:
            if key not in self._kept and self._cost(array) <= self.most_bytes:
                self._kept[key] = array
                self._bytes += self._cost(array)
                while self._bytes > self.most_bytes:
                    self._bytes -= self._cost(self._kept.popitem(last=False)[1])
        return array

    def __len__(self) -> int:
        return len(self._kept)

    def _cost(self, array: npt.NDArray[Any]) -> int:
        return array.nbytes + self.OVERHEAD


REMEMBERED = Remembered()


def bits_of(mask: Any) -> Bits:
    """Return a mask as bits, an eighth of its size."""
    return np.packbits(mask)


def kept_by(bits: Sequence[Bits], height: int) -> Mask:
    """Return the rows that all filters keep."""
    both = np.bitwise_and.reduce(bits) if bits else np.full((height + 7) // 8, 255, np.uint8)
    return np.unpackbits(both, count=height).view(np.bool_)


def in_order(order: Sequence[Rows] | None, mask: Mask) -> Iterator[Rows]:
    """Give the rows that a mask keeps, block by block, in an order or in that of the table."""
    if order is None:
        for start in range(0, len(mask), _BLOCK):
            yield (start + np.flatnonzero(mask[start : start + _BLOCK])).astype(np.uint32)
        return
    for run in order:
        for start in range(0, len(run), _BLOCK):
            block = run[start : start + _BLOCK]
            yield block[mask[block]]


def part_of(order: Sequence[Rows], start: int, stop: int) -> Rows:
    """Return some rows of an order that is in runs."""
    parts = [np.empty(0, np.uint32)]
    for run in order:
        parts.append(run[start:stop])
        start, stop = max(0, start - len(run)), max(0, stop - len(run))
    return np.concatenate(parts)


def first_rows(blocks: Iterator[Rows], stop: int) -> Rows:
    """Return the first rows of a sequence of blocks; no block after them is read."""
    parts, n = [np.empty(0, np.uint32)], 0
    for block in blocks:
        parts.append(block)
        n += len(block)
        if n >= stop:
            break
    return np.concatenate(parts)[:stop]


def condition(table: Table, name: str, comparison: str, text: str) -> Any:
    """Return the rows that a filter keeps, as an array; the value is read by the column's type."""
    if name not in table.names:
        raise unknown_name("column", name, table.names)
    if comparison not in _COMPARE:
        raise unknown_name("comparison", comparison, list(_COMPARE))
    of_arrow, of_numbers = _COMPARE[comparison]
    values = table.values(name)
    if values is not None:
        value = _yes(text) if values.dtype == np.bool_ else np.float64(_number(name, text))
        blocks = (values[start : start + _BLOCK] for start in range(0, len(values), _BLOCK))
        return np.concatenate([np.empty(0, np.bool_), *(of_numbers(block, value) for block in blocks)])
    if comparison == "=" and (same := table.equal(name, text)) is not None:
        return same
    column = table.column(name)
    kind = column.type
    if pa.types.is_boolean(kind):
        return mask_of(pc.equal(column, _yes(text)))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return mask_of(of_arrow(column, pa.scalar(_number(name, text))))
    texts = column if pa.types.is_large_string(kind) else column.cast(pa.large_string())
    return mask_of(of_arrow(texts, pa.scalar(text, pa.large_string())))


def having(table: Table, word: str) -> Mask:
    """Return the rows whose texts have a word, in lower case."""
    return mask_of(pc.match_substring(table.searched, word))


def mask_of(condition: Any) -> Mask:
    """Return the result of a comparison as an array; what is missing is false."""
    filled = pc.fill_null(condition, False)
    whole = filled.combine_chunks() if isinstance(filled, pa.ChunkedArray) else filled
    mask: Mask = whole.to_numpy(zero_copy_only=False)
    return mask


def _yes(text: str) -> bool:
    return text.lower() in ("true", "1", "yes")


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{name} is a number: compare it with one, not with {text!r}.") from None
