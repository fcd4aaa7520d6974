"""Compiled passes that read letters and punctuation, or look words up: plain arrays in, plain arrays out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.text._kernels import DROP, INNER, LETTER, width_and_point

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint32]
Signs = npt.NDArray[np.int8]

# What the letters and the punctuation around a token say (see `context`).
CAPITAL = 1 << 0  # first letter is a capital
CAPITALS = 1 << 1  # two capitals or more and no small letter
OPENS = 1 << 2  # first of its text, or after . ! ?
PAUSE = 1 << 3  # after a comma, colon, semicolon, dash or bracket
MONEY = 1 << 4  # directly after a currency sign
QUOTED = 1 << 5  # after a quotation mark
JOINED = 1 << 6  # after a hyphen

# What a letter says, in the table that gives the flags above for other characters.
UPPER = 1 << 0
SMALL = 1 << 1


@njit(cache=True, nogil=True)
def context(
    data: Bytes, offsets: Integers, kinds: Bytes, signs: Bytes, n_tokens: int
) -> tuple[Bytes, Integers]:
    """Return the flags of every token and the token count of every text.

    `kinds` says what each code point does to a token (the tokeniser's table) and `signs` what it says: the
    case of a letter, else the flags set on the token after it. Stops early, with a count of -1, where there
    are more tokens than `n_tokens`.
    """
    flags = np.zeros(n_tokens, dtype=np.uint8)
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    n = 0
    for row in range(len(offsets) - 1):
        i = offsets[row]
        end = offsets[row + 1]
        pending = OPENS
        inside = False
        apostrophe = False
        capitals = 0
        smalls = 0
        first = n
        while i < end:
            width, point = 1, int(data[i])
            if point > 127:
                width, point = width_and_point(data, i)
            i += width
            kind = kinds[point]
            sign = signs[point]
            if kind == LETTER:
                if not inside:
                    if n == n_tokens:
                        counts[row] = -1
                        return flags, counts
                    inside = True
                    capitals = 0
                    smalls = 0
                    flags[n] = pending | (CAPITAL if sign & UPPER else 0)
                    n += 1
                    pending = 0
                apostrophe = False
                capitals += (sign & UPPER) != 0
                smalls += (sign & SMALL) != 0
                if capitals >= 2 and smalls == 0:
                    flags[n - 1] |= CAPITALS
                else:
                    flags[n - 1] &= ~CAPITALS & 0xFF
            elif kind == INNER and inside and not apostrophe:
                apostrophe = True
            elif kind != DROP:
                if apostrophe:
                    pending |= QUOTED
                inside = False
                apostrophe = False
                pending |= sign
        counts[row] = n - first
    return flags, counts


@njit(cache=True, nogil=True)
def any_small_word(ids: Ids, offsets: Integers, marked: Flags, flags: Bytes) -> Flags:
    """Return for every text whether one of its words is marked and begins with no capital."""
    out = np.zeros(len(offsets) - 1, dtype=np.bool_)
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            if marked[ids[i]] and not flags[i] & CAPITAL:
                out[row] = True
                break
    return out


@njit(cache=True, nogil=True)
def any_word_or_pair(ids: Ids, offsets: Integers, marked: Flags, first: Flags, second: Flags) -> Flags:
    """Return for every text whether a word is marked or a `first` word stands right before a `second` one."""
    out = np.zeros(len(offsets) - 1, dtype=np.bool_)
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            word = ids[i]
            if marked[word] or (first[word] and i + 1 < offsets[row + 1] and second[ids[i + 1]]):
                out[row] = True
                break
    return out
