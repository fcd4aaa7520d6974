"""What a baseline may look at: the features of every partial, content-blind or full input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.audits.guessing import Bools, Examples, Floats
from cuecard.models import ngram_features
from cuecard.models.ngram_features import word_overlap
from cuecard.text import Encoded

#: "relation": a figure about both texts that reads neither. It may predict for good reasons, where what is
#: told in one text is asked of the other, so it is scored, and not called a leak.
Kind = Literal["content-blind", "relation", "partial", "full"]

#: A row's n-grams have length 1; figures beside them are kept smaller, so that they do not drown the words.
BESIDE_WORDS = 0.25
#: Premise words cannot decide alone in most tasks; they get half the length in the full input.
PREMISE_SHARE = 0.5
BINS = 10


@dataclass(frozen=True, eq=False)
class Condition:
    """A named input and its features, one row per instance."""

    name: str
    kind: Kind
    matrix: sparse.csr_matrix


def conditions(encoded: Encoded, examples: Examples, *, ngrams: int = 2) -> list[Condition]:
    """Return the inputs that apply to the task, content-blind ones first, the full input last.

    Bins and document frequencies come from train rows; labels are never looked at.
    """
    data = encoded.instances
    train = (data.table["split"].cast(pl.String) == "train").to_numpy()
    if not train.any():
        train = np.ones(len(data), dtype=np.bool_)
    build = _grouped if data.grouped else _text if data.task == "text" else _pair
    return build(_Features(encoded, examples, train, ngrams))


@dataclass(frozen=True, eq=False)
class _Features:
    """Blocks of features, built when asked for."""

    encoded: Encoded
    examples: Examples
    train: Bools
    ngrams: int

    def words(self, which: Literal["premise", "hypothesis"], ngrams: int | None = None) -> sparse.csr_matrix:
        tokens = self.encoded.premise if which == "premise" else self.encoded.hypothesis
        return ngram_features([tokens], ngrams=ngrams or self.ngrams, counted=self.train)

    def shared_words(self) -> sparse.csr_matrix:
        return ngram_features([], shared=(self.encoded.premise, self.encoded.hypothesis), counted=self.train)

    def characters(self, column: str) -> Floats:
        return self.encoded.instances.table[column].str.len_chars().to_numpy().astype(np.float64)

    def binned(self, *columns: npt.NDArray[np.int64] | Floats) -> sparse.csr_matrix:
        """Return for each column which of its bins, equally filled in train, every row falls into."""
        return sparse.hstack([_one_hot(column, self.train) for column in columns], format="csr")

    def lengths(self, which: Literal["premise", "hypothesis"]) -> sparse.csr_matrix:
        tokens = self.encoded.premise if which == "premise" else self.encoded.hypothesis
        return self.binned(tokens.lengths, self.characters(which))

    def overlap(self) -> tuple[Floats, Floats, Floats]:
        """Return the share and number of shared words, and the number of new ones, of every row."""
        shared, distinct = word_overlap(self.encoded.premise, self.encoded.hypothesis)
        return (
            shared / np.maximum(distinct, 1),
            shared.astype(np.float64),
            (distinct - shared).astype(np.float64),
        )

    def relative(self, values: Floats) -> Floats:
        """Return by how much a row's logarithm lies above the mean of its example."""
        logs, starts = np.log1p(values), self.examples.first_row[:-1]
        means = np.add.reduceat(logs, starts) / self.examples.options
        return np.asarray(logs - np.repeat(means, self.examples.options))

    def extremes(self, values: Floats) -> Floats:
        """Return columns for having the largest and the smallest value of the example; ties share the 1."""
        starts, sizes = self.examples.first_row[:-1], self.examples.options
        columns = []
        for best in (np.maximum.reduceat(values, starts), np.minimum.reduceat(values, starts)):
            is_best = (values == np.repeat(best, sizes)).astype(np.float64)
            columns.append(is_best / np.repeat(np.add.reduceat(is_best, starts), sizes))
        return np.column_stack(columns)


def _pair(build: _Features) -> list[Condition]:
    hypothesis, premise = build.words("hypothesis"), build.words("premise")
    hypothesis_length, premise_length = build.lengths("hypothesis"), build.lengths("premise")
    overlap = build.binned(*build.overlap())
    everything = [
        hypothesis,
        build.shared_words(),
        PREMISE_SHARE * build.words("premise", ngrams=1),
        BESIDE_WORDS * hypothesis_length,
        BESIDE_WORDS * overlap,
    ]
    return [
        Condition("length", "content-blind", hypothesis_length),
        Condition("overlap", "relation", overlap),
        Condition("hypothesis_only", "partial", _joined(hypothesis, BESIDE_WORDS * hypothesis_length)),
        Condition("premise_only", "partial", _joined(premise, BESIDE_WORDS * premise_length)),
        Condition("full", "full", _joined(*everything)),
    ]


def _text(build: _Features) -> list[Condition]:
    length = build.lengths("hypothesis")
    return [
        Condition("length", "content-blind", length),
        Condition("full", "full", _joined(build.words("hypothesis"), BESIDE_WORDS * length)),
    ]


def _grouped(build: _Features) -> list[Condition]:
    characters = build.characters("hypothesis")
    relative = build.relative(characters)
    length = np.column_stack([relative, build.extremes(characters)])
    share, shared, new = build.overlap()
    overlap = np.column_stack([share, build.relative(shared), build.relative(new), build.extremes(share)])
    choices = [build.words("hypothesis"), BESIDE_WORDS * length]
    found = [
        Condition("length", "content-blind", _joined(build.binned(relative), length)),
        Condition("overlap", "relation", _joined(build.binned(share), overlap)),
        Condition("choices_only", "partial", _joined(*choices)),
        Condition("full", "full", _joined(*choices, build.shared_words(), BESIDE_WORDS * overlap)),
    ]
    if build.encoded.instances.task == "choice":
        place = build.encoded.instances.table["position"].to_numpy().astype(np.int64)
        found.insert(0, Condition("position", "content-blind", _indicator(place)))
    return found


def _one_hot(values: npt.NDArray[np.int64] | Floats, counted: Bools) -> sparse.csr_matrix:
    """Return which of some bins each value falls into; equal values are never split."""
    edges = np.unique(
        np.quantile(values[counted].astype(np.float64), np.arange(1, BINS) / BINS, method="higher")
    )
    return _indicator(np.searchsorted(edges, values, side="right").astype(np.int64))


def _indicator(codes: npt.NDArray[np.int64]) -> sparse.csr_matrix:
    n = len(codes)
    shape = (n, int(codes.max(initial=0)) + 1)
    return sparse.csr_matrix((np.ones(n), codes.astype(np.int32), np.arange(n + 1)), shape=shape)


def _joined(*blocks: sparse.csr_matrix | Floats) -> sparse.csr_matrix:
    return sparse.hstack([sparse.csr_matrix(block) for block in blocks], format="csr")
