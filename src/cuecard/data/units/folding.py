"""Texts as hashes of their words: bytes beyond ASCII in one form first, then a compiled loop over all bytes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import on_threads, running_total
from cuecard.data.sentences import normalised, utf8
from cuecard.stats import _native

#: Rows of a part in which texts are read, so that the copy of their bytes lies in memory that is used again.
ROWS_AT_ONCE = 20_000

#: Signs that belong to a word, beside letters and digits: they keep C apart from C++ and 5 from -5.
_SIGNS = b"+-<>=%$#&@*/_"
#: What each byte does to the loop: letters are read in lower case.
_ACTIONS = np.zeros(256, dtype=np.uint64)
for _byte in range(256):
    if chr(_byte).isalpha() and _byte < 128:
        _ACTIONS[_byte] = ord(chr(_byte).lower())
    elif (chr(_byte).isdigit() and _byte < 128) or _byte >= 128 or _byte in _SIGNS:
        _ACTIONS[_byte] = _byte + _native.SIGN
# Chinese and Japanese are written without spaces: every character (U+3000 to U+9FFF) is a word.
_ACTIONS[0xE3:0xEA] = _native.CHARACTER_ALONE


def room_for(n_bytes: int, n_texts: int) -> int:
    """Return how many words texts of `n_bytes` have at most, and one more per text."""
    return (n_bytes + n_texts) // 2 + n_texts + 1


def folded(
    texts: pl.Series,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the hash of every text, the hashes of its words in compressed rows, and which texts may have signs."""
    n_parts = max(1, min(pl.thread_pool_size(), len(texts) // ROWS_AT_ONCE))
    bounds = np.linspace(0, len(texts), n_parts + 1).astype(np.int64)
    parts = [texts.slice(int(first), int(last - first)) for first, last in pairwise(bounds)]
    rooms = [room_for(int(part.str.len_bytes().sum() or 0), len(part)) for part in parts]
    # Arrays of numpy lie in large pages, which are much quicker to fill than those that compiled code asks for.
    words, begins = np.empty(sum(rooms), dtype=np.uint64), running_total(np.array(rooms, np.int64))
    done = on_threads(lambda i: folded_part(parts[i], words[begins[i] : begins[i + 1]]), n_parts)
    if n_parts == 1:
        return done[0]
    ends = running_total(np.array([len(own) for _, own, _, _ in done]))
    if (
        ends > begins
    ).any():  # texts in one form may be longer than they were: no part may cover the next one
        words = np.empty(ends[-1], dtype=np.uint64)
    for first, last, (_, own, _, _) in zip(ends[:-1], ends[1:], done, strict=True):
        words[first:last] = own
    starts = [
        np.zeros(1, np.int64),
        *(first + own[1:] for first, (_, _, own, _) in zip(ends, done, strict=False)),
    ]
    whole, signs = (np.concatenate([part[i] for part in done]) for i in (0, 3))
    return whole, words[: ends[-1]], np.concatenate(starts), signs


def folded_part(
    texts: pl.Series, words: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return what `folded` does of some texts; the hashes are written into `words`, or a longer array if need be."""
    n = len(texts)
    whole, starts, signs = np.empty(n, np.uint64), np.zeros(n + 1, np.int64), np.empty(n, np.bool_)
    for first in range(0, n, ROWS_AT_ONCE):
        part = texts.slice(first, ROWS_AT_ONCE)
        data, offsets = utf8(part)
        beyond_ascii = pl.Series([False])
        if data.max(initial=0) > 127:
            # Case, accents and quotation marks beyond ASCII are brought to one form before the loop over bytes.
            beyond_ascii = (part.str.len_bytes() != part.str.len_chars()).fill_null(False)
            part = part.clone().scatter(beyond_ascii.arg_true(), normalised(part.filter(beyond_ascii)))
            data, offsets = utf8(part)
        used = int(starts[first])
        if used + room_for(len(data), len(part)) > len(words):
            # A text in one form may be longer than it was.
            words = np.concatenate([words[:used], np.empty(len(words) + len(data), dtype=np.uint64)])
        rows = slice(first, first + len(part))
        whole[rows], own, signs[rows] = _native.fold_rows(data, offsets, _ACTIONS, words[used:])
        starts[first + 1 : first + len(part) + 1] = used + own[1:]
        signs[rows] |= beyond_ascii.to_numpy()
    return whole, words[: starts[-1]], starts, signs
