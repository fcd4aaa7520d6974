"""Which language texts are in: by their script, then by its telling letters or its most frequent words."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.text.stopwords import FREQUENT_WORDS
from cuecard.text.tokenisers import PACKAGES, has_segmenter, tokenise

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
