"""Strings become integer tokens, once."""

from cuecard.text.encoded import SCOPES, Encoded, Scope, encode
from cuecard.text.tokenise import TOKENISERS, tokenise
from cuecard.text.tokens import Tokens

__all__ = ["SCOPES", "TOKENISERS", "Encoded", "Scope", "Tokens", "encode", "tokenise"]
