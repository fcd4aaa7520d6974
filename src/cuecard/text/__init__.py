"""Strings become integer tokens, once."""

from cuecard.text.encoded import SCOPES, Encoded, EncodedTexts, Scope, encode, encoded_texts, language_of
from cuecard.text.stopwords import STOP_WORDS, stop_words
from cuecard.text.tokenisers import (
    TOKENISERS,
    UNDETERMINED,
    guess_language,
    reading_advice,
    suggested_tokeniser,
    tokenise,
)
from cuecard.text.tokens import (
    NGrams,
    Tokens,
    WithinExampleCounts,
    ngrams,
    presence,
    presence_counts,
    within_example_counts,
)

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
