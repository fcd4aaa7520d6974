"""A dataset encoded once: integer tokens of premise and hypothesis over one vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.text.tokenise import tokenise
from cuecard.text.tokens import Tokens

Scope = Literal["hypothesis", "premise", "both"]
SCOPES: tuple[Scope, ...] = get_args(Scope)


@dataclass(frozen=True, eq=False)
class Encoded:
    """Instances with their integer tokens; every feature family reads from here."""

    instances: Instances
    premise: Tokens
    hypothesis: Tokens
    scope: Scope = "hypothesis"
    language: str = "en"

    @property
    def vocabulary(self) -> pl.Series:
        """The token types that premise and hypothesis share as integers."""
        return self.hypothesis.vocabulary

    @cached_property
    def scoped(self) -> Tokens:
        """The tokens a feature looks at: hypothesis, premise, or premise followed by hypothesis."""
        if self.scope == "hypothesis":
            return self.hypothesis
        if self.scope == "premise":
            return self.premise
        return _joined(self.premise, self.hypothesis)


def encode(
    instances: Instances, *, tokens: str = "default", scope: Scope = "hypothesis", language: str = "en"
) -> Encoded:
    """Return the instances with integer tokens, premise and hypothesis over one vocabulary."""
    texts = pl.concat([instances.table["premise"], instances.table["hypothesis"]])
    both = tokenise(texts, tokens)
    n = len(instances)
    cut = both.offsets[n]
    premise = Tokens(both.ids[:cut], both.offsets[: n + 1], both.vocabulary)
    hypothesis = Tokens(both.ids[cut:], both.offsets[n:] - cut, both.vocabulary)
    return Encoded(instances, premise, hypothesis, scope, language)


def _joined(first: Tokens, second: Tokens) -> Tokens:
    """Return each text of `first` followed by the same text of `second`."""
    offsets = first.offsets + second.offsets
    ids = np.empty(offsets[-1], dtype=np.int32)
    lengths = first.lengths
    starts = np.repeat(offsets[:-1] - first.offsets[:-1], lengths)
    ids[np.arange(len(first.ids)) + starts] = first.ids
    starts = np.repeat(offsets[:-1] + lengths - second.offsets[:-1], second.lengths)
    ids[np.arange(len(second.ids)) + starts] = second.ids
    return Tokens(ids, offsets, first.vocabulary)
