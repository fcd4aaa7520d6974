"""The Penn Treebank's words as NLTK cuts them, lower-cased; ICQ's tokens.

NLTK's rules look at single characters and at the space beside them, never across a space, with three
exceptions: an opening quote at the start of the text, a comma or full stop at its end, and a full stop
before a last chunk of closing quotes and brackets. So a chunk between two spaces has the same tokens
wherever it is in the middle of a text, and each distinct chunk (in the middle, first, last or alone) is
cut once. Texts that end in nothing but closing marks are cut as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl

from cuecard.errors import MissingExtraError
from cuecard.stats import _native
from cuecard.text.bytewise import assemble, space_chunks, whole_texts
from cuecard.text.stopwords import word_set
from cuecard.text.tokens import Tokens

#: Words without any punctuation that NLTK cuts in two ("can not").
_CONTRACTIONS = frozenset({"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"})

#: Texts whose last chunk is all closing marks or white space, over which a full stop still counts as final.
_CLOSED_BY_MARKS = r" [\])}>\"'»”’\s\x1c-\x1f--[ ]]+ *$"

# Where a chunk is in its text: nothing before it, nothing but spaces after it, and some of these.
_FIRST, _LAST, _SPACED = 1, 2, 4
_PLACES = 8


def tokenise_treebank(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the tokens that `NLTKWordTokenizer().tokenize` gives for every text, lower-cased."""
    cut = _nltk_tokenise()
    texts = texts.fill_null("")
    closed_by_marks = texts.str.contains(_CLOSED_BY_MARKS)
    texts_in_chunks = texts.filter(~closed_by_marks)
    chunks = space_chunks(texts_in_chunks, threads=threads)
    wholes = whole_texts(texts.filter(closed_by_marks), threads=threads)

    # A piece's code says which chunk it is and where in its text it stands; whole texts are numbered behind.
    codes = chunks.ids * np.int32(_PLACES)
    filled = chunks.lengths > 0
    first = chunks.offsets[:-1][filled]
    last = chunks.offsets[1:][filled] - 1
    codes[first[~texts_in_chunks.str.starts_with(" ").to_numpy()[filled]]] += _FIRST
    codes[last] += _LAST
    codes[last[texts_in_chunks.str.ends_with(" ").to_numpy()[filled]]] += _SPACED
    n_chunk_codes = _PLACES * chunks.n_types
    stacked = Tokens(
        np.concatenate([codes, wholes.ids + np.int32(n_chunk_codes)]),
        np.concatenate([chunks.offsets, chunks.offsets[-1] + wholes.offsets[1:]]),
        chunks.vocabulary,
    )
    in_order = stacked.gather(np.argsort(np.argsort(closed_by_marks.to_numpy(), kind="stable")))
    pieces, distinct = _native.number_keys(in_order.ids.astype(np.int64))

    chunk_strings = chunks.vocabulary.to_list()
    whole_strings = wholes.vocabulary.to_list()

    def cuts(code: int) -> list[str]:
        if code >= n_chunk_codes:
            return cut(whole_strings[code - n_chunk_codes])
        return _cut_chunk(cut, chunk_strings[code // _PLACES], code % _PLACES)

    return assemble(pieces, in_order.offsets, map(cuts, distinct.tolist()))


def _cut_chunk(cut: Callable[[str], list[str]], chunk: str, place: int) -> list[str]:
    """Return the tokens of a chunk, with stand-ins for the neighbours it has."""
    if chunk.isascii() and chunk.isalnum() and chunk.lower() not in _CONTRACTIONS:
        return [chunk]
    before = "" if place & _FIRST else "a "
    after = (" " if place & _SPACED else "") if place & _LAST else " a"
    tokens = cut(before + chunk + after)
    return tokens[0 if place & _FIRST else 1 : len(tokens) if place & _LAST else -1]


def _nltk_tokenise() -> Callable[[str], list[str]]:
    try:
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError:
        raise MissingExtraError("nltk", "nltk", "The tokeniser 'treebank'") from None
    tokenise: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return tokenise


#: Endings of plurals and of the singular, the first that fits; an ending that stays protects its word.
_ENDINGS = (
    ("ss", "ss"),
    ("us", "us"),
    ("is", "is"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("tzes", "tz"),
    ("ies", "y"),
    ("oes", "o"),
    ("men", "man"),
    ("s", ""),
)

_IRREGULAR = {
    "aches": "ache",
    "analyses": "analysis",
    "avalanches": "avalanche",
    "bacteria": "bacterium",
    "bonuses": "bonus",
    "buses": "bus",
    "caches": "cache",
    "calves": "calf",
    "campuses": "campus",
    "canoes": "canoe",
    "children": "child",
    "circuses": "circus",
    "crises": "crisis",
    "criteria": "criterion",
    "dies": "die",
    "does": "doe",
    "feet": "foot",
    "foes": "foe",
    "gases": "gas",
    "geese": "goose",
    "goes": "go",
    "halves": "half",
    "headaches": "headache",
    "hypotheses": "hypothesis",
    "knives": "knife",
    "leaves": "leaf",
    "lenses": "lens",
    "lies": "lie",
    "lives": "life",
    "loaves": "loaf",
    "mice": "mouse",
    "movies": "movie",
    "moustaches": "moustache",
    "mustaches": "mustache",
    "niches": "niche",
    "oxen": "ox",
    "phenomena": "phenomenon",
    "pies": "pie",
    "quizzes": "quiz",
    "scarves": "scarf",
    "shelves": "shelf",
    "shoes": "shoe",
    "teeth": "tooth",
    "thieves": "thief",
    "ties": "tie",
    "tiptoes": "tiptoe",
    "toes": "toe",
    "viruses": "virus",
    "wives": "wife",
    "wolves": "wolf",
    "zombies": "zombie",
}

#: Words that end like a plural and are none, or have no other form.
_UNCHANGED = word_set("""
    abdomen acumen afterwards alas always amen backwards besides christmas downstairs economics ethics
    forwards gymnastics hers indoors kansas lens mathematics news nowadays omen ours ourselves outdoors
    overseas perhaps physics politics ramen regimen semen series sometimes species specimen stamen
    statistics texas theirs themselves towards upstairs vegas whereas yours yourselves
""")

_WORD = re.compile(r"[a-z-]{4,}")


def noun_lemma(word: str) -> str:
    """Return the singular of a lower-cased English word read as a noun; what is no plural stays as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _UNCHANGED or not _WORD.fullmatch(word):
        return word
    for plural, singular in _ENDINGS:
        if word.endswith(plural) and len(word) > len(plural) + 1:
            return word.removesuffix(plural) + singular
    return word


def noun_lemmas(tokens: Tokens) -> Tokens:
    """Return the same texts with every token replaced by its noun lemma."""
    names = [noun_lemma(word) for word in tokens.vocabulary]
    return tokens.renamed(pl.Series("token", names, dtype=pl.String))
