"""Noun, verb, adjective or adverb: one class per word type, from word lists and endings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native as roles
from cuecard.text.languages.stopwords import stop_words
from cuecard.text.annotate.tense.roles import word_roles

WORD_CLASSES = ("noun", "verb", "adjective", "adverb")
NOUN, VERB, ADJECTIVE, ADVERB = range(4)
OTHER = 4

_VERB_ROLES = (
    roles.BASE | roles.THIRD_PERSON | roles.PAST | roles.PAST_OR_PARTICIPLE | roles.PARTICIPLE | roles.GERUND
)
_ADJECTIVE_ENDINGS = (
    "ous",
    "ful",
    "less",
    "ive",
    "able",
    "ible",
    "ical",
    "ish",
    "ary",
    "est",
    "ial",
    "ual",
    "ier",
)

#: Frequent adjectives that no ending gives away.
_ADJECTIVES = frozenset(
    """
    able afraid alive alone American ancient angry Asian asleep available awake bad bald bare bearded best
    better big bitter black blank blond blonde blue bold bored brave brief bright broad broken brown busy calm
    casual certain cheap Chinese clean clear clever close cold common complete concrete cool correct crazy
    cute damp dark dead deaf deep dense different difficult dirty double dressed drunk dry dull eager early
    easy elderly electric empty English entire equal exact excited extra fair false familiar famous far fast
    fat federal few final fine firm first flat foreign formal free French frequent fresh friendly front full
    fun funny general gentle German giant glad golden good grand gray great green grey happy hard healthy
    heavy high hot huge human hungry ill important Indian indoor Italian Japanese large last late lazy left
    light likely little live local lone lonely long loose loud low lucky mad main major male many married
    medical mental middle military minor modern muddy narrow national natural near nearby neat new next nice
    normal odd old open orange other outdoor outer own pale past perfect personal pink plain political poor
    pretty private professional proper proud public pure purple quick quiet rare ready real recent red rich
    right ripe rocky rough round royal rusty sad safe sandy second senior separate sharp shiny short shy sick
    silent silly silver similar simple single sleepy slow small smart smooth snowy social soft solid sorry
    sour special square steep stiff still straight strange strict strong such sudden sunny sure sweet tall tan
    tasty thick thin third tight tiny tired total tough traditional tropical true typical ugly upper upset
    urban usual various vast warm weak weird wet white whole wide wild windy wise wonderful wooden wrong
    yellow young
    """.lower().split()
)


def word_classes(vocabulary: Iterable[str]) -> npt.NDArray[np.int8]:
    """Return the class of every English word: `NOUN`, `VERB`, `ADJECTIVE`, `ADVERB`, or `OTHER` for function words."""
    words = list(vocabulary)
    masks = word_roles(words)
    closed = stop_words("en")
    return np.array([_class(w, int(m), closed) for w, m in zip(words, masks, strict=True)], dtype=np.int8)


def _class(word: str, mask: int, closed: frozenset[str]) -> int:
    if mask & roles.AUXILIARY:
        return VERB
    if word in _ADJECTIVES:
        return ADJECTIVE
    if mask & roles.ADVERB:
        return ADVERB
    if (
        word in closed
        or not word[:1].isalpha()
        or mask & (roles.DETERMINER | roles.PREPOSITION | roles.MODAL)
    ):
        return OTHER
    if mask & _VERB_ROLES and not mask & roles.MOSTLY_NOUN:
        return VERB
    return ADJECTIVE if len(word) > 5 and word.endswith(_ADJECTIVE_ENDINGS) else NOUN
