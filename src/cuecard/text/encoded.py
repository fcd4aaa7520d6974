"""A dataset encoded once: integer tokens of premise and hypothesis over one vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.text.annotate import Annotations, Backend, get_annotator
from cuecard.text.language import guess_language, suggested_tokeniser
from cuecard.text.ngrams import NGrams, ngrams
from cuecard.text.tokenise import tokenise
from cuecard.text.tokens import Tokens, gather_rows

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
    tokeniser: str = "default"
    annotator: Backend = "auto"

    @property
    def vocabulary(self) -> pl.Series:
        """The token types that premise and hypothesis share as integers."""
        return self.hypothesis.vocabulary

    @cached_property
    def scoped(self) -> Tokens:
        """The tokens a feature looks at: hypothesis, premise, or premise followed by hypothesis."""
        if self.scope != "both":
            return self.hypothesis if self.scope == "hypothesis" else self.premise
        stacked = _stacked(self.premise, self.hypothesis)
        return Tokens(*_paired(stacked.ids, stacked.offsets), self.vocabulary)

    @cached_property
    def annotations(self) -> tuple[Annotations, ...]:
        """The properties of the texts a feature looks at: of one text per instance, or of both."""
        parts = {"hypothesis": self.hypothesis, "premise": self.premise}
        annotator = get_annotator(self.language, self.annotator)
        return tuple(
            annotator.annotate(self.instances.table[name], tokens if self.tokeniser == "default" else None)
            for name, tokens in parts.items()
            if self.scope in (name, "both")
        )

    def ngrams(self, n: int) -> NGrams:
        """Return the runs of n tokens a feature looks at; none crosses from premise to hypothesis."""
        if self.scope != "both":
            return ngrams(self.scoped, n)
        stacked = ngrams(_stacked(self.premise, self.hypothesis), n)
        return NGrams(*_paired(stacked.ids, stacked.offsets), stacked.members, stacked.words)


def encode(
    instances: Instances,
    *,
    tokens: str | None = None,
    scope: Scope = "hypothesis",
    language: str | None = None,
    annotator: Backend = "auto",
    threads: int | None = None,
) -> Encoded:
    """Return the instances with integer tokens, premise and hypothesis over one vocabulary.

    A language that is not given is guessed from the hypotheses; a tokeniser that is not given is the one that
    suits the language.
    """
    premises, hypotheses = instances.table["premise"], instances.table["hypothesis"]
    language = language or guess_language(hypotheses)
    tokens = tokens or suggested_tokeniser(language)
    both = tokenise(pl.concat([premises, hypotheses]), tokens, threads=threads)
    n = len(instances)
    return Encoded(instances, both.rows(0, n), both.rows(n, 2 * n), scope, language, tokens, annotator)


def _stacked(premise: Tokens, hypothesis: Tokens) -> Tokens:
    """Return all premises, then all hypotheses."""
    return Tokens(
        np.concatenate([premise.ids, hypothesis.ids]),
        np.concatenate([premise.offsets, premise.offsets[-1] + hypothesis.offsets[1:]]),
        premise.vocabulary,
    )


def _paired(
    ids: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return each row of the first half followed by its row of the second half."""
    halves = np.arange(len(offsets) - 1).reshape(2, -1)
    ids, offsets = gather_rows(ids, offsets, halves.T.ravel())
    return ids, np.ascontiguousarray(offsets[::2])
