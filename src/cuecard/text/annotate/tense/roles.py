"""What a word can be in a clause: one bit mask per word type, from word lists and endings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native as k
from cuecard.text.annotate.tense.verb_forms import verb_forms
from cuecard.text.annotate.word_lists import words

#: Sections of `function_words.txt` and the bit each sets.
_SECTION_BITS = {
    "determiner": k.DETERMINER,
    "preposition": k.PREPOSITION,
    "singular_subject": k.SUBJECT_SINGULAR,
    "plural_subject": k.SUBJECT_PLURAL,
    "object_pronoun": k.OBJECT,
    "relative": k.RELATIVE,
    "question": k.QUESTION,
    "subordinator": k.SUBORDINATOR,
    "conjunction": k.CONJUNCTION,
    "adverb": k.ADVERB,
    "present": k.PRESENT,
    "present_or_base": k.PRESENT | k.BASE,
    "past": k.PAST | k.AUXILIARY,
    "future": k.FUTURE,
    "modal": k.MODAL,
    "be": k.AUXILIARY,
    "have": k.AUXILIARY,
    "plural_noun": k.PLURAL,
    "speech": k.SPEECH,
    "modifier": k.MODIFIER,
}


@cache
def _function_words() -> dict[str, int]:
    bits: dict[str, int] = {"to": k.TO, "by": k.BY}
    for section, bit in _SECTION_BITS.items():
        for word in words("function_words", section):
            bits[word] = bits.get(word, 0) | bit
    return bits


def word_roles(vocabulary: Iterable[str]) -> npt.NDArray[np.uint32]:
    """Return the bit mask of what each word can be."""
    return np.array([_roles(word) for word in vocabulary], dtype=np.uint32)


def _roles(word: str) -> int:
    function = _function_words().get(word, 0)
    finite = k.PRESENT | k.PAST | k.FUTURE | k.MODAL
    if function & finite:
        return function
    return function | _verb_roles(word) | _ending_roles(word)


def _verb_roles(word: str) -> int:
    forms = verb_forms()
    roles = 0
    if word in forms.base:
        roles |= k.BASE
    if word in forms.third_person:
        roles |= k.THIRD_PERSON
    if roles and word not in forms.mostly_verb:
        roles |= k.MOSTLY_NOUN
    if word in forms.past:
        roles |= k.PAST_OR_PARTICIPLE if word in forms.participle else k.PAST
    elif word in forms.participle:
        roles |= k.PARTICIPLE
    if word in forms.gerund:
        roles |= k.GERUND
    return roles


def _ending_roles(word: str) -> int:
    """Return what the ending says about a word, listed or not."""
    forms = verb_forms()
    roles = 0
    if word.endswith("'s"):
        return k.DETERMINER
    if word.endswith("n't"):
        return k.MODAL
    listed = word in forms.base or word in forms.third_person or word in forms.past
    if (
        word.endswith("ly")
        and len(word) > 4
        and not listed
        and word not in words("function_words", "not_adverb")
    ):
        roles |= k.ADVERB
    if word.endswith("ed") and len(word) > 3 and not word.endswith("eed") and not listed:
        roles |= k.PAST_OR_PARTICIPLE
    if word.endswith("ing") and len(word) > 5 and not listed:
        roles |= k.GERUND
    if (
        word.endswith("s")
        and not word.endswith(("ss", "us", "is"))
        and len(word) > 3
        and word not in words("function_words", "not_plural")
    ) or word.endswith("men"):
        roles |= k.PLURAL if listed else k.PLURAL | k.UNLISTED_S
    if word.endswith(("ise", "ize", "ify")) and len(word) > 5 and not listed:
        roles |= k.BASE | k.MOSTLY_NOUN
    if word.endswith(("ises", "izes", "ifies")) and len(word) > 6 and not listed:
        roles |= k.THIRD_PERSON
    return roles
