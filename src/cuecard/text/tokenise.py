"""Named tokenisations: texts become integer tokens by the rule of that name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import polars as pl

from cuecard.registry import Registry
from cuecard.text.alphabet import character_rule, default_rule, stubborn_rule
from cuecard.text.bytewise import tokenise_bytes
from cuecard.text.tokens import Tokens


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

    `tokens` names one of `TOKENISERS`; `threads` limits the cores used and never changes the result.
    """
    return TOKENISERS.get(tokens).run(texts, threads=threads)


TOKENISERS.add(
    "default",
    Tokeniser(
        "lower-cased words: letters, digits, underscores and inner apostrophes",
        partial(tokenise_bytes, rule=default_rule),
    ),
)
TOKENISERS.add(
    "stubborn",
    Tokeniser(
        "lower-cased, punctuation deleted, split on white space: there's is theres",
        partial(tokenise_bytes, rule=stubborn_rule),
    ),
)
TOKENISERS.add(
    "chars",
    Tokeniser(
        "every character that is not white space, lower-cased", partial(tokenise_bytes, rule=character_rule)
    ),
)
