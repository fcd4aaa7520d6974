"""Inflected forms of English verbs, from a list of bases and a table of irregular ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cuecard.text.annotate.word_lists import sections, words

_VOWELS = "aeiou"


@dataclass(frozen=True)
class VerbForms:
    """All forms of all listed verbs; `mostly_verb` holds the bases and -s forms that are rarely nouns."""

    base: frozenset[str]
    third_person: frozenset[str]
    past: frozenset[str]
    participle: frozenset[str]
    gerund: frozenset[str]
    mostly_verb: frozenset[str]


@cache
def verb_forms() -> VerbForms:
    """Return the forms of the verbs in the package's lists."""
    irregular = {}
    row = iter(sections("irregular_verbs")["irregular"])
    for base, pasts, participles in zip(row, row, row, strict=True):
        irregular[base] = (pasts.split("/"), participles.split("/"))
    mostly_verb = words("verbs", "verb")
    noun_verbs = words("noun_verbs", "noun_verb") - mostly_verb
    bases = mostly_verb | noun_verbs | set(irregular)
    also_regular = words("verbs", "also_regular")
    past: set[str] = set()
    participle: set[str] = set()
    for base in bases:
        if base in irregular:
            past.update(irregular[base][0])
            participle.update(irregular[base][1])
        if base not in irregular or base in also_regular:
            past.add(past_form(base))
            participle.add(past_form(base))
    sure = bases - noun_verbs
    return VerbForms(
        base=frozenset(bases),
        third_person=frozenset(third_person(base) for base in bases),
        past=frozenset(past),
        participle=frozenset(participle),
        gerund=frozenset(gerund(base) for base in bases),
        mostly_verb=frozenset(sure | {third_person(base) for base in sure}),
    )


def third_person(base: str) -> str:
    """Return the -s form of a base: "watch" gives "watches", "carry" gives "carries"."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ies"
    return base + "s"


def past_form(base: str) -> str:
    """Return the regular past of a base: "stop" gives "stopped", "hope" gives "hoped"."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in _VOWELS:
        return base[:-1] + "ied"
    return (base + base[-1] if _doubles(base) else base) + "ed"


def gerund(base: str) -> str:
    """Return the -ing form of a base: "run" gives "running", "lie" gives "lying"."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and len(base) > 2:
        return base[:-1] + "ing"
    return (base + base[-1] if _doubles(base) else base) + "ing"


def _doubles(base: str) -> bool:
    """Whether the last consonant is doubled before -ed and -ing: one short vowel before one consonant."""
    if len(base) < 3 or base[-1] in _VOWELS + "wxy" or base[-2] not in _VOWELS or base[-3] in _VOWELS:
        return False
    return base in words("verbs", "doubles") or sum(letter in _VOWELS + "y" for letter in base) == 1
