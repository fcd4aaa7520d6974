"""Words of raw bytes with their places: one pass, without decoding."""

from __future__ import annotations

import numpy as np

from cuecard._compiled import njit


@njit(cache=True, nogil=True)
def word_hashes(data, escapes):  # type: ignore[no-untyped-def]
    """Return hash, first byte and end of every word of UTF-8 text; letters of A–Z count as lower case.

    A word is a run of letters, digits and bytes above 127; every Chinese, Japanese or Korean character is a word of its
    own, and general punctuation (dashes, curly quotes) ends one. With `escapes`, a backslash and what follows (JSON)
    ends a word, too. numpy has no pass that cuts and hashes at once.
    """
    n = len(data)
    hashes = np.empty(n + 1, np.uint64)
    starts = np.empty(n + 1, np.int64)
    ends = np.empty(n + 1, np.int64)
    count = 0
    start = -1
    value = np.uint64(1469598103934665603)
    i = 0
    while i < n:
        byte = data[i]
        step = 1
        inside = (48 <= byte <= 57) or (65 <= byte <= 90) or (97 <= byte <= 122) or byte >= 128
        alone = False
        if escapes and byte == 92:
            inside = False
            step = 6 if i + 1 < n and data[i + 1] == 117 else 2
        elif byte == 0xE2 or byte == 0xEF or (byte == 0xE3 and i + 1 < n and data[i + 1] == 0x80):
            inside = False
            step = 3
        elif 0xE3 <= byte <= 0xED:
            inside = False
            alone = i + 2 < n
            step = 3
        if inside:
            if start < 0:
                start = i
                value = np.uint64(1469598103934665603)
            lower = byte + 32 if 65 <= byte <= 90 else byte
            value = (value ^ np.uint64(lower)) * np.uint64(1099511628211)
        elif start >= 0:
            hashes[count], starts[count], ends[count] = value, start, i
            count += 1
            start = -1
        if alone:
            value = np.uint64(1469598103934665603)
            for k in range(3):
                value = (value ^ np.uint64(data[i + k])) * np.uint64(1099511628211)
            hashes[count], starts[count], ends[count] = value, i, i + 3
            count += 1
        i += step
    if start >= 0:
        hashes[count], starts[count], ends[count] = value, start, n
        count += 1
    return hashes[:count].copy(), starts[:count].copy(), ends[:count].copy()
