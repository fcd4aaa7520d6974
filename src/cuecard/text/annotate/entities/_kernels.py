"""A compiled pass that finds named things from what words say, capitals and punctuation."""

from __future__ import annotations

import numpy as np

from cuecard._compiled import njit
from cuecard.text.annotate._kernels import (
    CAPITAL,
    CAPITALS,
    JOINED,
    MONEY,
    OPENS,
    PAUSE,
    QUOTED,
    Bytes,
    Ids,
    Integers,
    Masks,
)
from cuecard.text.annotate.tense._kernels import (
    AUXILIARY,
    FUTURE,
    MODAL,
    MOSTLY_NOUN,
    PAST,
    PAST_OR_PARTICIPLE,
    PLURAL,
    PRESENT,
    THIRD_PERSON,
)

# What a word says (see `words`); a word may have several bits.
GIVEN_NAME = 1 << 0
PLACE = 1 << 1
PEOPLE = 1 << 2
ORGANISATION = 1 << 3
ORGANISATION_LAST = 1 << 4
PLACE_LAST = 1 << 5
TITLE = 1 << 6
OTHER_NAME = 1 << 7
COMMON = 1 << 8
COMMON_NOUN = 1 << 9
TIME_WORD = 1 << 10
TIME_UNIT = 1 << 11
TIME_CUE = 1 << 12
MONTH_OR_WORD = 1 << 13
YEAR = 1 << 14
NUMBER = 1 << 15
ONE = 1 << 16
BEFORE_PRONOUN_ONE = 1 << 17
PLACE_FIRST = 1 << 18
PLACE_SECOND = 1 << 19
NEEDS_NO_CAPITAL = 1 << 20
IN = 1 << 21
THE = 1 << 22
POSSESSIVE = 1 << 23
PLACE_IN_CAPITALS = 1 << 24

# Types of named things, as bits of the answer.
PERSON, ORG, LOC, TIME, CARDINAL, NORP, OTHER = 1, 2, 4, 8, 16, 32, 64

_FINITE = PRESENT | PAST | FUTURE | MODAL


@njit(cache=True, nogil=True)
def _run_type(words: Masks, flags: Bytes, first: int, last: int) -> int:
    """Return the type of the capitalised words from `first` up to `last`."""
    united = 0
    capitals = True
    for i in range(first, last):
        united |= words[i]
        capitals = capitals and (flags[i] & CAPITALS) != 0
    final = words[last - 1]
    before = words[first - 1] if first > 0 else 0
    several = last - first > 1
    if several and final & ORGANISATION_LAST:
        return ORG
    if several and (final & PLACE_LAST or words[first] & PLACE_LAST):
        return LOC
    if united & TITLE:
        return PERSON if several else 0
    if words[first] & GIVEN_NAME and not united & PLACE:
        return PERSON
    if united & (PLACE | PLACE_IN_CAPITALS):
        return LOC
    if united & PEOPLE:
        return NORP
    if united & TIME_WORD:
        return TIME
    if united & OTHER_NAME:
        return OTHER
    if united & ORGANISATION or capitals:
        return ORG
    if united & GIVEN_NAME:
        return PERSON
    if before & IN:
        return LOC
    return ORG if before & THE or last - first > 2 else PERSON


@njit(cache=True, nogil=True)
def _opening_name(words: Masks, flags: Bytes, roles: Masks, i: int, n: int) -> bool:
    """Whether a capitalised word at the start of a sentence is a name: the grammar has no other place for it.

    A singular noun without an article before a finite verb is a name, or a word such as "traffic".
    """
    if words[i] & (COMMON | COMMON_NOUN | TIME_WORD | NUMBER | ONE) or i + 1 >= n:
        return False
    if words[i] & POSSESSIVE:
        return True
    if flags[i + 1] & (JOINED | QUOTED | OPENS) or roles[i] & PLURAL or roles[i + 1] & MOSTLY_NOUN:
        return False
    return bool(roles[i + 1] & (_FINITE | AUXILIARY | THIRD_PERSON | PAST_OR_PARTICIPLE))


@njit(cache=True, nogil=True)
def _times_and_numbers(words: Masks, flags: Bytes, roles: Masks, i: int, n: int) -> int:
    """Return the bits for a time or a number at i."""
    types = 0
    word = words[i]
    before = words[i - 1] if i > 0 else 0
    after = words[i + 1] if i + 1 < n else 0
    if word & TIME_WORD or (word & TIME_UNIT and before & (NUMBER | TIME_CUE | ONE)):
        types |= TIME
    if word & YEAR:
        types |= CARDINAL if flags[i] & MONEY else TIME
    if word & NUMBER and not (after & (TIME_WORD | TIME_UNIT) or before & MONTH_OR_WORD):
        types |= CARDINAL
    if word & MONTH_OR_WORD and flags[i] & CAPITAL and (before & (NUMBER | IN) or after & (NUMBER | YEAR)):
        types |= TIME
    if word & ONE and not before & BEFORE_PRONOUN_ONE and i + 1 < n and not roles[i + 1] & _FINITE:
        types |= CARDINAL
    return types


@njit(cache=True, nogil=True)
def _run_end(words: Masks, flags: Bytes, i: int, n: int) -> int:
    """Return the place after the last capitalised word that goes with the one at i."""
    last = i + 1
    while last < n and flags[last] & CAPITAL and not words[last] & COMMON:
        if flags[last] & (PAUSE | QUOTED) or (flags[last] & OPENS and not words[last - 1] & TITLE):
            break
        last += 1
    return last


@njit(cache=True, nogil=True)
def _is_place_of_two_words(words: Masks, flags: Bytes, i: int, n: int) -> bool:
    """Whether a place such as "New York" stands at i, and no longer name."""
    if i + 1 >= n or not words[i + 1] & PLACE_SECOND or not flags[i] & flags[i + 1] & CAPITAL:
        return False
    return i + 2 >= n or not flags[i + 2] & CAPITAL or (flags[i + 2] & (OPENS | PAUSE)) != 0


@njit(cache=True, nogil=True)
def _named(words: Masks, flags: Bytes, roles: Masks, n: int) -> int:
    """Return the types of named things in one text as bits."""
    types = 0
    n_capital = 0
    for i in range(n):
        n_capital += (flags[i] & CAPITAL) != 0
    # A text all in capitals or in title case says nothing by its capitals.
    telling = (n_capital < n and (n < 6 or n_capital < 0.7 * n)) or n == 1
    run_end = 0
    for i in range(n):
        word = words[i]
        types |= _times_and_numbers(words, flags, roles, i, n)
        if i < run_end:
            continue
        before = words[i - 1] if i > 0 else 0
        if word & PLACE_FIRST and _is_place_of_two_words(words, flags, i, n):
            types |= LOC
            run_end = i + 2
            continue
        if flags[i] & CAPITALS and word & PLACE_IN_CAPITALS and telling:
            types |= LOC
        elif not telling or not flags[i] & CAPITAL or word & COMMON:
            if word & NEEDS_NO_CAPITAL:
                types |= LOC if word & PLACE else NORP
        else:
            run_end = _run_end(words, flags, i, n)
            opens = i == 0 or (flags[i] & (OPENS | QUOTED) and not before & TITLE)
            name_kind = word & (GIVEN_NAME | PLACE | PEOPLE | ORGANISATION | OTHER_NAME)
            if opens and not name_kind and run_end - i == 1 and not flags[i] & CAPITALS:
                if _opening_name(words, flags, roles, i, n):
                    types |= PERSON
            else:
                types |= _run_type(words, flags, i, run_end)
    return types


@njit(cache=True, nogil=True)
def named_things(ids: Ids, offsets: Integers, entity_words: Masks, word_roles: Masks, flags: Bytes) -> Bytes:
    """Return for every text the types of the things it names, as bits."""
    out = np.zeros(len(offsets) - 1, dtype=np.uint8)
    words = np.empty(256, dtype=np.uint32)
    roles = np.empty(256, dtype=np.uint32)
    for row in range(len(offsets) - 1):
        start = offsets[row]
        n = offsets[row + 1] - start
        if n > len(words):
            words = np.empty(2 * n, dtype=np.uint32)
            roles = np.empty(2 * n, dtype=np.uint32)
        for i in range(n):
            words[i] = entity_words[ids[start + i]]
            roles[i] = word_roles[ids[start + i]]
        out[row] = _named(words, flags[start : start + n], roles, n)
    return out
