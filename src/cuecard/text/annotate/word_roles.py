"""What an English word can be in a clause, from word lists and endings: roles, verb forms, word classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native as k
from cuecard.stats import _native as roles
from cuecard.text.stopwords import stop_words

_FOLDER = files("cuecard.text.annotate") / "english_words"


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """Return the words of every section of a list; a line `# section: what it holds` opens a section."""
    by_section: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            current = by_section.setdefault(line[1:].split(":")[0].strip(), [])
        else:
            current.extend(line.split())
    return {section: tuple(words) for section, words in by_section.items()}


def words(name: str, section: str) -> frozenset[str]:
    """Return the words of one section of a list."""
    return frozenset(sections(name)[section])


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
