"""The marks of JSON and how deeply it is nested: what reads tables takes time that grows with the cube of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

#: Levels that a value of a row may have; no dataset is known to need more than ten.
DEEPEST = 64
_CHUNK = 1 << 20
#: Characters that are counted at a time.
_WIDTH = 64
_OPENS, _CLOSES, _LINE, _OBJECT = 0x5B, 0x5D, 0x0A, 0x7B
_SPACE, _QUOTE, _COLON, _BACKSLASH = 0x20, 0x22, 0x3A, 0x5C


def may_be_nested(data: bytes, counted: JsonMarks) -> bool:
    """Return whether a line of JSON may be nested too deeply; brackets in texts count, too, so look closer then."""
    # Lines of objects open one bracket each; with few others, none can be deep.
    if counted.further_brackets < DEEPEST - 1:
        return False
    depth = 0
    for start in range(0, len(data), _CHUNK):
        chars = np.frombuffer(data, dtype=np.uint8, count=min(_CHUNK, len(data) - start), offset=start)
        folded = chars & 0xDF  # "[" and "{" differ in one bit, as "]" and "}" do
        marks = np.flatnonzero((folded == _OPENS) | (folded == _CLOSES) | (chars == _LINE))
        steps = (folded[marks] == _OPENS).astype(np.int64) - (folded[marks] == _CLOSES)
        levels = np.cumsum(steps) + depth
        ends = chars[marks] == _LINE
        at_end = np.maximum.accumulate(np.where(ends, np.arange(len(marks)), -1))
        base = np.where(at_end >= 0, levels[at_end], 0)
        inside = levels - base
        if inside.max(initial=0) > DEEPEST:
            return True
        depth = int(inside[-1]) if len(inside) else depth
    return False


class JsonMarks(NamedTuple):
    """What lines of JSON hold, read without parsing them."""

    #: Keys that a colon follows at once: a quotation mark and a colon, which texts hold with a backslash.
    keys: int
    #: Quotation marks with a space and a colon behind them.
    spaced: int
    #: Brackets that are opened beside those that lines begin with.
    further_brackets: int


def json_marks(data: bytes) -> JsonMarks:
    """Return the marks of lines of JSON, counted in one pass."""
    return JsonMarks(*_count_marks(np.frombuffer(data, dtype=np.uint8)))


@njit(cache=True, nogil=True)
def _count_marks(chars: npt.NDArray[np.uint8]) -> tuple[int, int, int]:
    """Return the fields of `JsonMarks`; without branches, so that the processor looks at many characters at a time."""
    n = len(chars)
    keys = spaced = opened = begins = 0
    of_keys, of_spaced = np.zeros(_WIDTH, np.uint8), np.zeros(_WIDTH, np.uint8)
    of_opened, of_begins = np.zeros(_WIDTH, np.uint8), np.zeros(_WIDTH, np.uint8)
    # Blocks are counted in bytes, one for every place of a block, so that a register holds as many counts as it does
    # characters; a byte counts to 255.
    first = 1
    while first + _WIDTH < n - 2:
        blocks = min(255, (n - 3 - first) // _WIDTH)
        of_keys[:], of_spaced[:], of_opened[:], of_begins[:] = 0, 0, 0, 0
        for _ in range(blocks):
            before, here = chars[first - 1 : first - 1 + _WIDTH], chars[first : first + _WIDTH]
            after, next_after = chars[first + 1 : first + 1 + _WIDTH], chars[first + 2 : first + 2 + _WIDTH]
            for i in range(_WIDTH):
                quote = here[i] == _QUOTE
                of_keys[i] += quote & (after[i] == _COLON) & (before[i] != _BACKSLASH)
                of_spaced[i] += quote & (after[i] == _SPACE) & (next_after[i] == _COLON)
                # "[" and "{" differ in one bit.
                of_opened[i] += (here[i] & 0xDF) == _OPENS
                of_begins[i] += (here[i] == _OBJECT) & (before[i] == _LINE)
            first += _WIDTH
        keys += of_keys.sum()
        spaced += of_spaced.sum()
        opened += of_opened.sum()
        begins += of_begins.sum()
    for i in range(first, n - 2):
        quote = chars[i] == _QUOTE
        keys += quote & (chars[i + 1] == _COLON) & (chars[i - 1] != _BACKSLASH)
        spaced += quote & (chars[i + 1] == _SPACE) & (chars[i + 2] == _COLON)
        opened += (chars[i] & 0xDF) == _OPENS
        begins += (chars[i] == _OBJECT) & (chars[i - 1] == _LINE)
    for i in range(max(n - 2, 1), n):
        opened += (chars[i] & 0xDF) == _OPENS
        begins += (chars[i] == _OBJECT) & (chars[i - 1] == _LINE)
    if n and chars[0] == _OPENS:
        opened += 1
    return keys, spaced, opened - begins


def is_nested(value: Any) -> bool:
    """Return whether a value has more than `DEEPEST` levels of lists and objects."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            part
            for holder in level
            if isinstance(holder, list | dict)
            for part in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(part, list | dict)
        ]
        if not level:
            return False
    return True
