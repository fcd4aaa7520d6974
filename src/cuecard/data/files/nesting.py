"""How deeply JSON is nested: what reads tables takes time that grows with the cube of it."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Levels that a value of a row may have; no dataset is known to need more than ten.
DEEPEST = 64
_CHUNK = 1 << 24
_OPENS, _CLOSES, _LINE = 0x5B, 0x5D, 0x0A


def may_be_nested(data: bytes, deepest: int = DEEPEST) -> bool:
    """Return whether a line of JSON may be nested more deeply; brackets in texts count, too, so look closer then."""
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
        if inside.max(initial=0) > deepest:
            return True
        depth = int(inside[-1]) if len(inside) else depth
    return False


def is_nested(value: Any, deepest: int = DEEPEST) -> bool:
    """Return whether a value has more levels of lists and objects."""
    level = [value]
    for _ in range(deepest + 1):
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
