"""Whether a text negates: a property of words, and of the pair "no longer"."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.text.annotate.word_lists import words
from cuecard.text.tokens import Tokens


def has_negation(tokens: Tokens) -> npt.NDArray[np.bool_]:
    """Return which texts negate a clause, as a parser's `neg` relation does; "no" before a noun does not."""
    vocabulary = tokens.vocabulary
    negator = vocabulary.is_in(words("negation", "negator")) | vocabulary.str.ends_with("n't")
    first = vocabulary.is_in(words("negation", "before_comparative"))
    second = vocabulary.is_in(words("negation", "comparative"))
    negated: npt.NDArray[np.bool_] = _native.any_word_or_pair(
        tokens.ids, tokens.offsets, negator.to_numpy(), first.to_numpy(), second.to_numpy()
    )
    return negated
