"""Which characters make a token, which end one: the rules of the tokenisers that read byte by byte."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable
from functools import cache

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native

#: What a lower-cased character does to a token: one of the kinds of `stats._native`.
Rule = Callable[[str], int]

#: The apostrophe of the keyboard and the one of typography (U+2019).
APOSTROPHES = frozenset("'\u2019")


#: Zero-width non-joiner and joiner.
JOINERS = frozenset("\u200c\u200d")


def default_rule(character: str) -> int:
    """Return the kind under `default`: letters, marks, digits and underscores make tokens.

    Marks count as letters so that words of Hindi or Thai hold together, and so do joiners, without which words of
    Persian or Malayalam are misspelt. Other characters without width of their own (soft hyphen, variation selectors)
    are passed over; the zero-width space is a space.
    """
    if character in APOSTROPHES:
        return _native.INNER
    if character in JOINERS:
        return _native.LETTER
    if _is_invisible(character):
        return _native.DROP
    return (
        _native.LETTER if character == "_" or unicodedata.category(character)[0] in "LMN" else _native.BREAK
    )


def stubborn_rule(character: str) -> int:
    """Return the kind under `stubborn`: punctuation is deleted, white space ends a token."""
    if character.isspace():
        return _native.BREAK
    punctuation = character in string.punctuation or unicodedata.category(character)[0] == "P"
    return _native.DROP if punctuation else _native.LETTER


def character_rule(character: str) -> int:
    """Return the kind under `chars`: whatever is not white space is a token of its own."""
    return _native.BREAK if character.isspace() else _native.ALONE


@cache
def byte_actions(rule: Rule) -> npt.NDArray[np.uint16]:
    """Return what each byte does under a rule, with the lower-cased byte to write."""
    actions = np.full(256, _native.WIDE << 8, dtype=np.uint16)
    for byte in range(128):
        lower = chr(byte).lower()
        actions[byte] = rule(lower) << 8 | ord(lower)
    return actions


def code_point_kinds(rule: Rule, seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Return what each of the code points seen does under a rule; the others are left out."""
    points = np.flatnonzero(seen)
    kinds = np.zeros(len(seen), dtype=np.uint8)
    kinds[points] = [rule(chr(point)) for point in points]
    return kinds


def _is_invisible(character: str) -> bool:
    if character == "\u200b":
        return False
    point = ord(character)
    selector = 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF
    return selector or (point > 127 and unicodedata.category(character) == "Cf")
