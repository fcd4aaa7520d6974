"""What the default tokens have lost: capitals, and the punctuation before each token."""

from __future__ import annotations

import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.splits.sentences import composed
from cuecard.data.utf8 import utf8
from cuecard.errors import UsageError
from cuecard.stats import _native as k
from cuecard.text.tokenisers.alphabet import code_point_kinds, default_rule
from cuecard.text.tokens import Tokens


def token_flags(texts: pl.Series, tokens: Tokens) -> npt.NDArray[np.uint8]:
    """Return the flags of every default token: `CAPITAL`, `CAPITALS`, `OPENS`, `PAUSE` … of `stats._native`.

    The texts are read once more, byte by byte, under the tokeniser's own rule: flags and tokens line up.
    """
    data, offsets = utf8(composed(texts))
    kinds, signs = _ascii_tables()
    if data.size and data.max() > 127:
        seen = k.code_points_seen(data)
        seen[:128] = True
        kinds = code_point_kinds(default_rule, seen)
        signs = np.zeros(len(kinds), dtype=np.uint8)
        points = np.flatnonzero(seen)
        signs[points] = [_sign(chr(point)) for point in points]
    flags, counts = k.context(data, offsets, kinds, signs, len(tokens.ids))
    if not np.array_equal(counts, tokens.lengths):
        raise UsageError("Annotating needs the tokens of these very texts under the default tokenisation.")
    checked: npt.NDArray[np.uint8] = flags
    return checked


@cache
def _ascii_tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    characters = [chr(point) for point in range(128)]
    kinds = np.array([default_rule(character) for character in characters], dtype=np.uint8)
    return kinds, np.array([_sign(character) for character in characters], dtype=np.uint8)


def _sign(character: str) -> int:
    """Return what a character says: the case of a letter, or the flags it sets on the token after it."""
    category = unicodedata.category(character)
    if category in ("Lu", "Lt"):
        return k.UPPER
    if category[0] == "L":
        return k.SMALL
    if character in ".!?…":
        return k.OPENS
    if character in "-‐‑":
        return k.JOINED
    if character in "\"“”„«»'‘’`":
        return k.QUOTED
    if character in ",;:" or category in ("Ps", "Pe", "Pd"):
        return k.PAUSE
    return k.MONEY if category == "Sc" else 0
