"""Strings become integer tokens, once."""

from cuecard.text.counting import WithinExampleCounts, presence, presence_counts, within_example_counts
from cuecard.text.encoded import SCOPES, Encoded, EncodedTexts, Scope, encode, encoded_texts, language_of
from cuecard.text.languages.language import (
    UNDETERMINED,
    guess_language,
    reading_advice,
    suggested_tokeniser,
)
from cuecard.text.languages.stopwords import STOP_WORDS, stop_words
from cuecard.text.ngrams import NGrams, ngrams
from cuecard.text.tokenisers.tokenise import TOKENISERS, tokenise
from cuecard.text.tokens import Tokens

__all__ = [
    "SCOPES",
    "STOP_WORDS",
    "TOKENISERS",
    "UNDETERMINED",
    "Encoded",
    "EncodedTexts",
    "NGrams",
    "Scope",
    "Tokens",
    "WithinExampleCounts",
    "encode",
    "encoded_texts",
    "guess_language",
    "language_of",
    "ngrams",
    "presence",
    "presence_counts",
    "reading_advice",
    "stop_words",
    "suggested_tokeniser",
    "tokenise",
    "within_example_counts",
]
