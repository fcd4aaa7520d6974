"""Texts with part of their information taken away, to see what a score rests on."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Bools
from cuecard.text.annotate.word_roles import ADJECTIVE, ADVERB, VERB, word_classes
from cuecard.text.stopwords import stop_words, word_set
from cuecard.text.tokenisers import tokenise

#: Words that open a noun phrase: a noun follows, sometimes after an adjective.
_OPENERS = word_set("""
    a an the this that these those my your his her its our their some any no every each another many several few both
    all one two three four five six seven eight nine ten
""")
_PREPOSITIONS = word_set(
    "of at in on for from with by into onto near under over through about without during like"
)
#: After these a verb, an adjective or an adverb is likelier than a noun.
_BEFORE_VERBS = word_set("""
    i you he she it we they who there is are was were am be been being 's has have had will would can could may might
    must should do does did to isn't aren't wasn't weren't don't doesn't didn't can't won't couldn't not
""")
_NEVER = word_set("""
    together away back across behind along around beside below above outside inside else instead soon ago anyway even
    online due despite regardless next past least something anything nothing everything someone anyone everyone nobody
""")
_NEGATIONS = word_set("no not never nobody nothing none nor neither nowhere cannot without") | {
    f"{verb}n't"
    for verb in word_set("is are was were do does did have has had ca wo would could should must need ai")
}
_CLASSES = {"masked_verbs": VERB, "masked_adjectives": ADJECTIVE, "masked_adverbs": ADVERB}
#: Endings that settle it, whatever the place.
_NOUN_ENDING = r"(?:tion|sion|ment|ness|ship|hood|ism)s?$"
_OTHER_ENDING = r"(?:ly|ing|ed)$"
#: A word with no vote counts as no noun; one vote for it must not be outweighed by none.
_EVEN = 0.25
_PASSES = 3


def noun_types(texts: pl.Series) -> frozenset[str]:
    """Return the word types that are mostly nouns in these texts, lower-cased.

    A noun closes the phrase that an article, a number or a preposition opens, and a function word or nothing follows;
    a verb follows a subject or an auxiliary. Each occurrence of a word votes; since "the old man" needs to know "man",
    the vote is taken several times.
    """
    tokens = tokenise(texts)
    vocabulary, boundary = tokens.vocabulary, tokens.n_types

    def among(words: frozenset[str]) -> Bools:
        return np.append(vocabulary.is_in(sorted(words)).to_numpy(), False)

    functional = among(stop_words("en") | _OPENERS | _PREPOSITIONS | _NEVER)
    opener, preposition, before_verbs = (among(w) for w in (_OPENERS, _PREPOSITIONS, _BEFORE_VERBS))
    settled = np.append(vocabulary.str.contains(_NOUN_ENDING).to_numpy(), False) & ~functional
    impossible = np.append(vocabulary.str.contains(_OTHER_ENDING).to_numpy(), True) | functional

    ids = tokens.ids.astype(np.int64)
    starts = np.zeros(len(ids) + 1, dtype=bool)
    starts[tokens.offsets] = True
    before = np.where(starts[:-1], boundary, np.roll(ids, 1))
    two_before = np.where(starts[:-1] | np.roll(starts[:-1], 1), boundary, np.roll(ids, 2))
    after = np.where(starts[1:], boundary, np.roll(ids, -1))
    closed = functional[after] | (after == boundary)
    content_before = ~functional[before] & (before != boundary)

    noun = settled
    for taken in range(_PASSES):
        # Before any noun is known, "the man sits" would read like "the old man".
        modified = (opener | preposition)[two_before] & content_before & ~noun[before] & (taken > 0)
        opened = opener[before] | modified
        subject = (before == boundary) & before_verbs[after]
        yes = (opened & closed) | subject | (preposition[before] & closed)
        no = before_verbs[before] | (opened & noun[after])
        votes = [np.bincount(ids, weights=side, minlength=boundary) for side in (yes, no)]
        share = votes[0] / (votes[0] + votes[1] + _EVEN)
        noun = (np.append(share > 0.5, False) & ~impossible) | settled
    return frozenset(vocabulary.filter(pl.Series(noun[:-1])).to_list())


#: What stands for a word that was taken away; no tokeniser of words makes it a token.
MASK = "…"
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


def transformed(texts: pl.Series, name: str, *, language: str = "en", seed: int = 0) -> pl.Series:
    """Return the texts after a named transformation; equal texts stay equal.

    ``shuffled_words`` keeps the words and loses their order; ``masked_nouns`` hides what is talked about;
    ``masked_function_words`` hides everything but content words; ``masked_verbs``, ``masked_adjectives``,
    ``masked_adverbs`` and ``masked_negations`` hide one class of words. Masks only apply to English.
    """
    check_transformation(name)
    distinct = texts.fill_null("").unique(maintain_order=True)
    changed = TRANSFORMATIONS[name](distinct, language, seed)
    return texts.fill_null("").replace_strict(distinct, changed, return_dtype=pl.String)


def check_transformation(name: str) -> None:
    """Raise if there is no transformation of that name."""
    if name not in TRANSFORMATIONS:
        raise unknown_name("transformation", name, list(TRANSFORMATIONS))


def _shuffled_words(texts: pl.Series, language: str, seed: int) -> pl.Series:
    del language
    rng = np.random.default_rng(seed)

    def shuffled(text: str) -> str:
        words = text.split()
        if len(words) > 1:
            return " ".join(words[i] for i in rng.permutation(len(words)))
        # Without spaces between words (Chinese, Thai) the characters change places.
        return "".join(text[i] for i in rng.permutation(len(text)))

    return pl.Series(texts.name, [shuffled(text) for text in texts], dtype=pl.String)


def _masked_nouns(texts: pl.Series, language: str, seed: int) -> pl.Series:
    del seed
    _english_only("masked_nouns", language)
    return _masked(texts, noun_types(texts))


def _masked_function_words(texts: pl.Series, language: str, seed: int) -> pl.Series:
    del seed
    _english_only("masked_function_words", language)
    return _masked(texts, stop_words(language))


def _masked_class(code: int, name: str, texts: pl.Series, language: str, seed: int) -> pl.Series:
    del seed
    _english_only(name, language)
    vocabulary = tokenise(texts).vocabulary
    of_class = frozenset(vocabulary.filter(pl.Series(word_classes(vocabulary) == code)))
    return _masked(texts, of_class - noun_types(texts))


def _masked_negations(texts: pl.Series, language: str, seed: int) -> pl.Series:
    del seed
    _english_only("masked_negations", language)
    return _masked(texts, _NEGATIONS)


def _english_only(name: str, language: str) -> None:
    if language != "en":
        raise UsageError(
            f"The transformation {name!r} only applies to English; these texts are in {language!r}."
        )


def _masked(texts: pl.Series, words: frozenset[str]) -> pl.Series:
    def hidden(match: re.Match[str]) -> str:
        return MASK if match[0].lower().replace("\u2019", "'") in words else match[0]

    return pl.Series(texts.name, [_WORD.sub(hidden, text) for text in texts], dtype=pl.String)


TRANSFORMATIONS: dict[str, Callable[[pl.Series, str, int], pl.Series]] = {
    "shuffled_words": _shuffled_words,
    "masked_nouns": _masked_nouns,
    "masked_function_words": _masked_function_words,
    "masked_negations": _masked_negations,
    **{name: partial(_masked_class, code, name) for name, code in _CLASSES.items()},
}
