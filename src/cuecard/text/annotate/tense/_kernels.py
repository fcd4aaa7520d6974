"""A compiled pass over word roles that finds the main verb of a text and its tense."""

from __future__ import annotations

import numpy as np

from cuecard._compiled import njit
from cuecard.text.annotate._kernels import CAPITAL, JOINED, OPENS, PAUSE, Bytes, Ids, Integers, Masks, Signs

# What a word can be in a clause (see `roles`); a word may have several bits.
PRESENT = 1 << 0
PAST = 1 << 1
FUTURE = 1 << 2
MODAL = 1 << 3
PAST_OR_PARTICIPLE = 1 << 4
PARTICIPLE = 1 << 5
THIRD_PERSON = 1 << 6
BASE = 1 << 7
MOSTLY_NOUN = 1 << 8
GERUND = 1 << 9
AUXILIARY = 1 << 10
DETERMINER = 1 << 11
PREPOSITION = 1 << 12
SUBJECT_SINGULAR = 1 << 13
SUBJECT_PLURAL = 1 << 14
OBJECT = 1 << 15
RELATIVE = 1 << 16
QUESTION = 1 << 17
SUBORDINATOR = 1 << 18
CONJUNCTION = 1 << 19
ADVERB = 1 << 20
PLURAL = 1 << 21
TO = 1 << 22
SPEECH = 1 << 23
MODIFIER = 1 << 24
BY = 1 << 25
UNLISTED_S = 1 << 26

# Tenses as numbers, in the order of `TENSES`; UNTENSED is a finite verb that has none of them.
NONE, PAST_TENSE, PRESENT_TENSE, FUTURE_TENSE, UNTENSED = 0, 1, 2, 3, 4

# How certain it is that a word is a finite verb.
WEAK, MAYBE, LIKELY, SURE = 0, 1, 2, 3

_FINITE = PRESENT | PAST | FUTURE | MODAL
_SUBJECT = SUBJECT_SINGULAR | SUBJECT_PLURAL
_OBJECT_BEGINS = DETERMINER | OBJECT | SUBJECT_PLURAL | SUBJECT_SINGULAR
_CLAUSE_BEGINS = CONJUNCTION | SUBORDINATOR | RELATIVE | QUESTION


@njit(cache=True, nogil=True)
def _back(roles: Masks, i: int, start: int) -> int:
    """Return the place of the nearest word before i that is no mere adverb, or start - 1."""
    i -= 1
    while i >= start and (roles[i] & ADVERB) and not (roles[i] & (_FINITE | DETERMINER | BASE)):
        i -= 1
    return i


@njit(cache=True, nogil=True)
def _verb_here(
    roles: Masks, flags: Bytes, i: int, start: int, end: int, coordinated: bool
) -> tuple[int, int]:
    """Return (tense or NONE, how certain) of the word at i as a finite verb, judged by its neighbours.

    How certain: `SURE` words are finite whatever stands around, `LIKELY` ones may end the search, `MAYBE`
    ones are overruled by a sure verb, `WEAK` ones by any.
    """
    role = roles[i]
    before = _back(roles, i, start)
    prev = roles[before] if before >= start else 0
    after = roles[i + 1] if i + 1 < end and not flags[i + 1] & (PAUSE | OPENS) else 0
    takes_object = (after & _OBJECT_BEGINS) != 0
    infinitive = (prev & (TO | MODAL | FUTURE)) != 0
    if role & FUTURE:
        return FUTURE_TENSE, SURE
    if role & MODAL:
        return UNTENSED, SURE
    if role & PRESENT:
        if role & BASE and infinitive:
            return NONE, WEAK
        return PRESENT_TENSE, SURE
    if role & PAST and role & AUXILIARY:
        return PAST_TENSE, SURE
    if before < start or infinitive or flags[i] & JOINED:
        return NONE, WEAK
    if prev & (DETERMINER | PREPOSITION | MODIFIER) and not (prev & _SUBJECT and before == i - 1):
        return NONE, WEAK
    if role & PAST and not role & PAST_OR_PARTICIPLE:
        return PAST_TENSE, SURE
    if role & PAST_OR_PARTICIPLE:
        if prev & AUXILIARY or after & BY:
            return NONE, WEAK
        return PAST_TENSE, LIKELY if prev & _SUBJECT or role & SPEECH or takes_object else MAYBE
    if role & THIRD_PERSON:
        if prev & (SUBJECT_PLURAL | AUXILIARY) and not prev & SUBJECT_SINGULAR:
            return NONE, WEAK
        if role & MOSTLY_NOUN:
            return PRESENT_TENSE, LIKELY if prev & SUBJECT_SINGULAR and not prev & DETERMINER else WEAK
        # "After the game reviews, they did": before a comma a noun is as likely.
        pause = i + 1 < end and flags[i + 1] & PAUSE
        return PRESENT_TENSE, MAYBE if after & _FINITE or pause else LIKELY
    if role & BASE:
        if prev & SUBJECT_PLURAL:
            return PRESENT_TENSE, LIKELY if not (prev & DETERMINER and role & MOSTLY_NOUN) else WEAK
        if (prev & PLURAL or coordinated) and not prev & AUXILIARY:
            if role & MOSTLY_NOUN:
                return PRESENT_TENSE, WEAK
            return PRESENT_TENSE, MAYBE if after & _FINITE else LIKELY
    if (
        role & UNLISTED_S
        and not prev & (PLURAL | GERUND)
        and (takes_object or after & (PREPOSITION | ADVERB))
    ):
        return PRESENT_TENSE, WEAK
    return NONE, WEAK


@njit(cache=True, nogil=True)
def _is_noun(role: int) -> bool:
    """Whether a word with no other known role, or a plural, stands there."""
    other = (
        _FINITE
        | DETERMINER
        | PREPOSITION
        | _SUBJECT
        | OBJECT
        | _CLAUSE_BEGINS
        | ADVERB
        | TO
        | GERUND
        | MODIFIER
    )
    return (role & other) == 0


@njit(cache=True, nogil=True)
def _opens_clause(role: int, after: int) -> bool:
    """Whether a new clause begins here, so that a verb found before stands."""
    if not role & _CLAUSE_BEGINS or role & DETERMINER:
        return False
    # "men dressed in black and white are": a list continues after "and" unless a verb or a subject follows.
    verb_or_subject = _FINITE | _SUBJECT | DETERMINER | BASE | PAST_OR_PARTICIPLE
    return not role & CONJUNCTION or (after & verb_or_subject) != 0


@njit(cache=True, nogil=True)
def _is_contact_clause(roles: Masks, flags: Bytes, i: int) -> bool:
    """Whether a pronoun right after a noun opens a clause on it: "the things they say are"."""
    pronoun = roles[i] & SUBJECT_PLURAL and not roles[i] & DETERMINER
    return pronoun and not flags[i] & PAUSE and _is_noun(roles[i - 1])


@njit(cache=True, nogil=True)
def _tense_of(roles: Masks, flags: Bytes, start: int, end: int) -> int:
    """Return the tense of the main verb of the first sentence that has a verb."""
    tense_so_far = NONE
    strength = WEAK
    skipped = NONE
    skip = 0
    fronted = False
    verbless = False
    coordinated = False
    nouns = 0
    gerunds = 0
    i = start
    while i < end:
        role = roles[i]
        after = roles[i + 1] if i + 1 < end else 0
        if i == start or (flags[i] & OPENS and flags[i] & CAPITAL):
            if tense_so_far != NONE or skipped != NONE:
                return tense_so_far if tense_so_far != NONE else skipped
            skip = 0
            nouns = 0
            verbless = False
            coordinated = False
            fronted = (role & (PREPOSITION | ADVERB)) != 0
            if role & BASE and not role & MOSTLY_NOUN:
                if role & PRESENT:
                    return PRESENT_TENSE if after & _SUBJECT else UNTENSED
                if after & (_OBJECT_BEGINS | PREPOSITION | ADVERB | TO):
                    return UNTENSED
            if role & SUBORDINATOR:
                skip = 1
                i += 1
                continue
        elif strength == WEAK and nouns > 0 and role & RELATIVE and not role & _FINITE:
            if not roles[i - 1] & (CONJUNCTION | PREPOSITION):
                verbless = gerunds > 0
                skip += 1
                i += 1
                continue
        elif tense_so_far == NONE and gerunds > 0 and role & SUBORDINATOR:
            verbless = True
            skip += 1
        elif tense_so_far != NONE and strength > WEAK and _opens_clause(role, after):
            return tense_so_far
        tense, certain = _verb_here(roles, flags, i, start, end, coordinated)
        if tense != NONE:
            if skip > 0 and certain > WEAK:
                skip -= 1
                if skipped == NONE and not verbless:
                    skipped = tense
                # The rest of this verb group is no verb of its own.
                i += 1
                while i < end and roles[i] & (ADVERB | PARTICIPLE | PAST_OR_PARTICIPLE | BASE | GERUND):
                    i += 1
                continue
            if certain == SURE or (certain == LIKELY and strength == WEAK):
                return int(tense)
            if tense_so_far == NONE or strength == WEAK:
                tense_so_far = tense
                strength = certain
        elif role & CONJUNCTION and nouns > 0:
            coordinated = True
        elif tense_so_far == NONE and nouns > 0 and not fronted and _is_contact_clause(roles, flags, i):
            skip += 1
        if _is_noun(role):
            nouns += 1
        elif role & GERUND:
            gerunds += 1
        i += 1
    return tense_so_far if tense_so_far != NONE else skipped


@njit(cache=True, nogil=True)
def tenses(ids: Ids, offsets: Integers, word_roles: Masks, flags: Bytes) -> Signs:
    """Return the tense of every text: 0 none, 1 past, 2 present, 3 future."""
    out = np.zeros(len(offsets) - 1, dtype=np.int8)
    roles = np.empty(256, dtype=np.uint32)
    for row in range(len(offsets) - 1):
        start = offsets[row]
        n = offsets[row + 1] - start
        if n > len(roles):
            roles = np.empty(2 * n, dtype=np.uint32)
        for i in range(n):
            roles[i] = word_roles[ids[start + i]]
        tense = _tense_of(roles, flags[start : start + n], 0, n)
        out[row] = tense if tense < UNTENSED else 0
    return out
