"""Strings become integer tokens, once."""

from cuecard.text.counting import WithinExampleCounts, presence, presence_counts, within_example_counts
from cuecard.text.encoded import SCOPES, Encoded, Scope, encode
from cuecard.text.language import UNDETERMINED, guess_language, suggested_tokeniser
from cuecard.text.ngrams import NGrams, ngrams
from cuecard.text.stopwords import stop_words
from cuecard.text.tokenise import TOKENISERS, tokenise
from cuecard.text.tokens import Tokens

__all__ = [
    "SCOPES",
    "TOKENISERS",
    "UNDETERMINED",
    "Encoded",
    "NGrams",
    "Scope",
    "Tokens",
    "WithinExampleCounts",
    "encode",
    "guess_language",
    "ngrams",
    "presence",
    "presence_counts",
    "stop_words",
    "suggested_tokeniser",
    "tokenise",
    "within_example_counts",
]
