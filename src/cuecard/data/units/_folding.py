"""Compiled loops that read texts as hashes of their words: bytes in, hashes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Array = npt.NDArray[Any]

PRIME = np.uint64(0x100000001B3)
START = np.uint64(0xCBF29CE484222325)
MIX_A = np.uint64(0xBF58476D1CE4E5B9)
MIX_B = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_LETTER = np.uint64(255)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)

#: What a byte does that is read as no letter: it ends a word, or begins a character that is a word by itself.
SEPARATES = 0
ALONE = 1 << 9
#: Added to the letter of a byte that is neither an ASCII letter nor a separator.
SIGN = 1 << 8


@njit(cache=True, nogil=True)
def mixed(value: np.uint64) -> np.uint64:
    hashed: np.uint64 = end_mixed(inner_mixed(begin_mixed(value)))
    return hashed


@njit(cache=True, nogil=True)
def begin_mixed(value: np.uint64) -> np.uint64:
    """Return the value after the first step of `mixed`; that of a ^ b is that of a ^ that of b."""
    return value ^ (value >> _S30)


@njit(cache=True, nogil=True)
def inner_mixed(value: np.uint64) -> np.uint64:
    value = value * MIX_A
    return (value ^ (value >> _S27)) * MIX_B


@njit(cache=True, nogil=True)
def end_mixed(value: np.uint64) -> np.uint64:
    """Return the value after the last step of `mixed`, which leaves the first 31 bits as they are."""
    return value ^ (value >> _S31)


@njit(cache=True, nogil=True)
def fold_rows(data: Array, offsets: Array, actions: Array, words: Array) -> tuple[Array, Array, Array]:
    """Return the hash of every text's words in order, where its words begin, and which texts have signs.

    The words' hashes are written into `words`, which has room for half as many as there are bytes and one per text.
    `actions` says what each byte does: the letter it is read as, plus `SIGN` where it is none, or `ALONE` where it
    begins a character that is a word by itself, or 0 where it ends a word. A text without any word is hashed as it
    stands. One that repeats the text before it, as the question of several choices does, is not read again.
    """
    n = len(offsets) - 1
    whole = np.empty(n, dtype=np.uint64)
    starts = np.zeros(n + 1, dtype=np.int64)
    signs = np.zeros(n, dtype=np.bool_)
    used = 0
    for row in range(n):
        i, end = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        if row and _repeats(data, np.uint64(offsets[row - 1]), i, end):
            for j in range(starts[row - 1], starts[row]):
                words[used] = words[j]
                used += 1
            starts[row + 1], whole[row], signs[row] = used, whole[row - 1], signs[row - 1]
            continue
        text = START
        seen = np.uint64(0)
        while i < end:
            action = actions[data[i]]
            if action == SEPARATES:
                i += _ONE
                continue
            word = START
            if action == ALONE:
                word = (word ^ np.uint64(data[i])) * PRIME
                i += _ONE
                while i < end and data[i] & 0xC0 == 0x80:
                    word = (word ^ np.uint64(data[i])) * PRIME
                    i += _ONE
            else:
                while action != SEPARATES and action != ALONE:
                    word = (word ^ (action & _LETTER)) * PRIME
                    seen |= action
                    i += _ONE
                    if i == end:
                        break
                    action = actions[data[i]]
            word = mixed(word)
            words[used] = word
            text = (text ^ word) * PRIME
            used += 1
        starts[row + 1] = used
        if used == starts[row]:
            for place in range(offsets[row], offsets[row + 1]):
                seen |= np.uint64(SIGN)
                if data[place] > 32:
                    text = (text ^ np.uint64(data[place])) * PRIME
        whole[row] = mixed(text)
        signs[row] = seen >= SIGN
    return whole, starts, signs


@njit(cache=True, nogil=True)
def _repeats(data: Array, before: np.uint64, i: np.uint64, end: np.uint64) -> bool:
    """Return whether the text from `i` to `end` is the one that stands from `before` to `i`."""
    if end - i != i - before:
        return False
    while i < end and data[before] == data[i]:
        before += _ONE
        i += _ONE
    return bool(i == end)
