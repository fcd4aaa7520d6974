"""Named tokenisations, by whose rule texts become integer tokens; and which language texts are in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import polars as pl

from cuecard.data.fingerprint import composed
from cuecard.errors import MissingExtraError
from cuecard.registry import Registry
from cuecard.text.bytewise import (
    character_rule,
    default_rule,
    stubborn_rule,
    tokenise_bytes,
    tokenise_distinct,
)
from cuecard.text.stopwords import FREQUENT_WORDS
from cuecard.text.tokens import Tokens
from cuecard.text.treebank import noun_lemmas, tokenise_treebank

#: The package that segments each language; the extra has the language's name.
PACKAGES = {"zh": "rjieba", "ja": "fugashi", "th": "pythainlp"}


def extra_of(tokens: str) -> str | None:
    """Return the optional part of CueCard that a tokeniser needs."""
    if tokens.startswith("treebank"):
        return "nltk"
    return tokens.removeprefix("words-") if tokens.startswith("words-") else None


def has_segmenter(language: str) -> bool:
    """Return whether the package that segments this language is installed."""
    return language in PACKAGES and find_spec(PACKAGES[language]) is not None


def tokenise_chinese(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the Chinese words of every text (rjieba), without punctuation."""
    cut = _package("zh").cut
    return tokenise_distinct(texts, lambda pieces: (_words(cut(piece)) for piece in pieces), threads=threads)


def tokenise_japanese(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the Japanese words of every text (MeCab by fugashi, with unidic-lite), without punctuation."""
    parse = _package("ja").Tagger("-Owakati").parse
    return tokenise_distinct(
        texts, lambda pieces: (_words(parse(piece).split()) for piece in pieces), threads=threads
    )


def tokenise_thai(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the Thai words of every text (pythainlp's newmm), without punctuation."""
    cut = _package("th").word_tokenize
    return tokenise_distinct(
        texts, lambda pieces: (_words(cut(piece, engine="newmm")) for piece in pieces), threads=threads
    )


def _words(tokens: list[str]) -> list[str]:
    """Return the tokens with a letter or digit in them, as the default tokeniser would keep them."""
    return [token.strip() for token in tokens if any(character.isalnum() for character in token)]


def _package(language: str) -> Any:
    if not has_segmenter(language):
        raise MissingExtraError(PACKAGES[language], language, f"The tokeniser 'words-{language}'")
    return import_module(PACKAGES[language])


class TextsToTokens(Protocol):
    """A function from texts to their tokens."""

    def __call__(self, texts: pl.Series, *, threads: int | None = None) -> Tokens:
        """Return the integer tokens of every text."""
        ...


@dataclass(frozen=True)
class Tokeniser:
    """A named way to cut texts into tokens."""

    description: str
    run: TextsToTokens


TOKENISERS: Registry[Tokeniser] = Registry("tokeniser", group="cuecard.tokenisers")


def tokenise(texts: pl.Series, tokens: str = "default", *, threads: int | None = None) -> Tokens:
    """Return the integer tokens of every text; a missing text has none.

    `tokens` names one of `TOKENISERS`; `threads` limits the cores used and never changes the result. Accents
    are joined to their letters first, so a word is one token however it was typed.
    """
    plain = texts.cast(pl.String)
    joined = composed(plain)
    if joined is not plain:  # something is beyond ASCII, as joiners are
        joined = _joined(joined)
    return TOKENISERS.get(tokens).run(joined, threads=threads)


def _joined(texts: pl.Series) -> pl.Series:
    """Return texts whose joiners stand only between letters of scripts that are written with them."""
    if not texts.str.contains("[\u200c\u200d]").any():
        return texts
    letter = r"[\p{Arabic}\p{Devanagari}\p{Bengali}\p{Malayalam}\p{Sinhala}\p{Kannada}\p{Telugu}\p{Tamil}\p{Gujarati}]"
    # Marked first, because a joiner can end one pair of letters and begin the next.
    marked = texts.str.replace_all(rf"({letter})(\u200c|\u200d)", "${1}\ue000${2}")
    marked = marked.str.replace_all(rf"\ue000(\u200c|\u200d)({letter})", "\ue000${1}\ue000${2}")
    bare = marked.str.replace_all("(^|[^\ue000])[\u200c\u200d]", "${1}")
    return bare.str.replace_all("\ue000([\u200c\u200d])\ue000", "${1}").str.replace_all(
        "\ue000[\u200c\u200d]?", ""
    )


def _tokenise_lemmas(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    return noun_lemmas(tokenise_treebank(texts, threads=threads))


for _name, _description, _run in (
    (
        "default",
        "lower-cased words: letters, digits, underscores and inner apostrophes",
        partial(tokenise_bytes, rule=default_rule),
    ),
    (
        "stubborn",
        "lower-cased, punctuation deleted, split on white space: there's is theres",
        partial(tokenise_bytes, rule=stubborn_rule),
    ),
    (
        "treebank",
        "NLTK's word tokeniser, lower-cased: don't is do, n't",
        tokenise_treebank,
    ),
    (
        "treebank-lemma",
        "treebank with every token as a singular noun: does is doe",
        _tokenise_lemmas,
    ),
    (
        "chars",
        "every character that is not white space, lower-cased",
        partial(tokenise_bytes, rule=character_rule),
    ),
    ("words-zh", "Chinese words", tokenise_chinese),
    ("words-ja", "Japanese words", tokenise_japanese),
    ("words-th", "Thai words", tokenise_thai),
):
    TOKENISERS.add(_name, Tokeniser(_description, _run))


#: What `guess_language` answers where it cannot tell (ISO 639-2).
UNDETERMINED = "und"

#: Scripts as regular expressions for one letter, with the language taken for granted if no other has it.
_SCRIPTS = {
    "zh": r"[\p{Han}\p{Hiragana}\p{Katakana}]",
    "ko": r"\p{Hangul}",
    "th": r"\p{Thai}",
    "lo": r"\p{Lao}",
    "km": r"\p{Khmer}",
    "my": r"\p{Myanmar}",
    "hi": r"\p{Devanagari}",
    "bn": r"\p{Bengali}",
    "ta": r"\p{Tamil}",
    "te": r"\p{Telugu}",
    "ka": r"\p{Georgian}",
    "hy": r"\p{Armenian}",
    "he": r"\p{Hebrew}",
    "el": r"\p{Greek}",
    "ar": r"\p{Arabic}",
    "ru": r"\p{Cyrillic}",
}

#: Letters that only one language of a script uses often: script, language, letters, least share of it.
_TELLING_LETTERS = (
    ("zh", "ja", r"[\p{Hiragana}\p{Katakana}]", 0.05),
    ("ar", "ur", r"[ٹڈڑںھہے]", 0.02),
    ("ar", "fa", r"[پچژگیک]", 0.02),
    ("ru", "uk", r"[іїєґІЇЄҐ]", 0.02),
    ("ru", "bg", r"[ъЪ]", 0.01),
)

#: Least share of a text's words that must be frequent words of its language.
_MINIMUM_SHARE = 0.05


#: Languages whose words are not divided by spaces, or too rare because particles are written together with them.
UNDIVIDED = frozenset({"zh", "ja", "th", "ko", "lo", "km", "my"})


def guess_language(texts: pl.Series, *, sample: int = 1000) -> str:
    """Return the ISO code of the language most texts are in ("en", "zh", …), or "und" where it cannot tell.

    Looks at `sample` texts, evenly spaced.
    """
    texts = texts.drop_nulls()
    if len(texts) > sample:
        texts = texts.gather(np.linspace(0, len(texts) - 1, sample).astype(np.int64))
    letters = _count(texts, r"\p{L}")
    if letters == 0:
        return UNDETERMINED
    by_script = {language: _count(texts, pattern) for language, pattern in _SCRIPTS.items()}
    script, most = max(by_script.items(), key=lambda item: item[1])
    if most > letters / 3:
        for of_script, language, pattern, share in _TELLING_LETTERS:
            if of_script == script and _count(texts, pattern) > share * most:
                return language
        return script
    return _guess_by_words(texts)


def suggested_tokeniser(language: str) -> str:
    """Return the tokeniser that suits a language: words if there is a segmenter, otherwise characters.

    Korean is read by syllables, which are its characters: a word with its particles is too rare to be a cue.
    """
    if language in UNDIVIDED:
        return f"words-{language}" if has_segmenter(language) else "chars"
    return "default"


def reading_advice(language: str, tokeniser: str) -> str | None:
    """Return how texts of a language that is not read by words are read, and what to type to read words.

    >>> reading_advice("en", "default")
    >>> reading_advice("my", "chars")
    "Texts in language 'my' are read by characters, because words are not divided by spaces."
    """
    if language not in UNDIVIDED or tokeniser != "chars":
        return None
    if language == "ko":
        return (
            "Korean texts are read by syllables, because most words with their particles are rare: "
            "--tokens default reads words."
        )
    if language not in PACKAGES:
        return (
            f"Texts in language {language!r} are read by characters, because words are not divided by spaces."
        )
    if has_segmenter(language):
        return f"The texts are read by characters: --tokens words-{language} reads words."
    return f"The texts are read by characters: pip install 'cuecard[{language}]' to read words."


def _guess_by_words(texts: pl.Series) -> str:
    """Return the language whose frequent words make up most of the texts."""
    tokens = tokenise(texts)
    occurrences = np.bincount(tokens.ids, minlength=tokens.n_types)
    shares = {
        language: occurrences[tokens.vocabulary.is_in(list(words)).to_numpy()].sum() / max(1, len(tokens.ids))
        for language, words in FREQUENT_WORDS.items()
    }
    language, share = max(shares.items(), key=lambda item: item[1])
    return language if share >= _MINIMUM_SHARE else UNDETERMINED


def _count(texts: pl.Series, pattern: str) -> int:
    return int(texts.str.count_matches(pattern).sum() or 0)
