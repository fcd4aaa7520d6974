"""Concepts that were found in texts: what a text needs to have one, and the feature family of those on a card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.data.instances import taken
from cuecard.errors import InputError, UsageError
from cuecard.features.family import Presence
from cuecard.features.raw_text import SCOPE_COLUMNS
from cuecard.models.embeddings import WeightedWords, embed
from cuecard.stats.arrays import Bools, Floats, Singles
from cuecard.text import Encoded, Scope

__all__ = ["CONCEPTS", "WEIGHTS", "ConceptFamily", "FoundConcepts", "text_vectors"]

#: The tables of a card that hold concepts: one row per concept, and the weight of every word or dimension.
CONCEPTS, WEIGHTS = "concepts", "concept_weights"
#: The embedding that words make by themselves; any other is a sentence encoder or a model.
WORDS = "tfidf"
#: Columns of the table of concepts that say how to find them in a text.
OF_CONCEPTS = ("concept", "threshold", "relative", "embedding", "tokens", "scope")


def text_vectors(data: Instances, method: str, scope: Scope) -> Singles:
    """Return vectors of length one of the texts of some instances, by a sentence encoder or a trained model.

    The whole dataset that the instances are a part of is read at once, so that no text is read twice.
    """

    def read() -> Singles:
        vectors, codes = embed(scoped_text(data.whole, scope), method)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray((vectors / np.maximum(lengths, 1e-12))[codes], dtype=np.float32)

    vectors = data.whole.derived(("text vectors", method, scope), read)
    return vectors if data.row_numbers is None else taken(vectors, data.row_numbers)


@dataclass(frozen=True, eq=False)
class FoundConcepts:
    """Concepts by name: a text has one if its score is above the threshold.

    The score is the sum of the text's weighted words, or of the entries of its vector, each times a weight. A score
    that is `relative` is that of a choice less the mean of the other choices of its example.
    """

    names: tuple[str, ...]
    weights: Singles
    """Words or dimensions × concepts."""
    thresholds: Floats
    relative: Bools
    embedding: str
    tokens: str
    scope: Scope
    words: WeightedWords | None = None

    def scores(self, data: Instances) -> Floats:
        """Return instances × concepts: how clearly each instance has each concept."""
        return np.asarray(data.derived(("concept scores", self._digest), lambda: self._scores(data)))

    def having(self, data: Instances) -> Bools:
        """Return instances × concepts: which has which."""
        return np.asarray(self.scores(data) > self.thresholds)

    def _scores(self, data: Instances) -> Floats:
        if self.words is not None:
            rows = self.words.rows(scoped_text(data, self.scope), self.tokens).astype(np.float64)
        else:
            rows = text_vectors(data, self.embedding, self.scope).astype(np.float64)
        scores = np.asarray(rows @ self.weights.astype(np.float64))
        if self.relative.any():
            scores[:, self.relative] = beside_rivals(scores[:, self.relative], data)
        return scores

    @property
    def _digest(self) -> str:
        key = blake2b(repr((self.embedding, self.tokens, self.scope, self.names)).encode(), digest_size=16)
        for array in (self.weights, self.relative):
            key.update(np.ascontiguousarray(array).tobytes())
        return key.hexdigest()

    def chosen(self, which: npt.NDArray[np.int64], names: Sequence[str]) -> FoundConcepts:
        """Return some of the concepts, by names of their own."""
        return FoundConcepts(
            tuple(names), self.weights[:, which], self.thresholds[which], self.relative[which],
            self.embedding, self.tokens, self.scope, self.words,
        )  # fmt: skip

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the concepts as the two tables of a card from which they are read again."""
        n_inputs = len(self.weights)
        inputs = (
            pl.DataFrame({"input": self.words.words, "rarity": self.words.rarity})
            if self.words is not None
            else pl.DataFrame(
                {"input": pl.arange(n_inputs, eager=True).cast(pl.String)},
            ).with_columns(rarity=pl.lit(None, pl.Float32))
        )
        weights = pl.Series("weights", self.weights, dtype=pl.Array(pl.Float32, len(self.names)))
        concepts = pl.DataFrame(
            {
                "concept": self.names,
                "threshold": self.thresholds,
                "relative": self.relative,
                "embedding": [self.embedding] * len(self.names),
                "tokens": [self.tokens] * len(self.names),
                "scope": [self.scope] * len(self.names),
            }
        )
        return {CONCEPTS: concepts, WEIGHTS: inputs.with_columns(weights)}

    @classmethod
    def of_tables(cls, tables: Mapping[str, pl.DataFrame]) -> FoundConcepts:
        """Return the concepts that `tables` wrote."""
        concepts, weights = tables[CONCEPTS], tables[WEIGHTS]
        first = concepts.row(0, named=True)
        words = None
        if first["embedding"] == WORDS:
            words = WeightedWords(weights["input"], weights["rarity"].to_numpy().astype(np.float32))
        return cls(
            tuple(concepts["concept"]),
            weights["weights"].to_numpy().astype(np.float32).reshape(weights.height, concepts.height),
            concepts["threshold"].to_numpy(),
            concepts["relative"].to_numpy(),
            first["embedding"],
            first["tokens"],
            first["scope"],
            words,
        )


def scoped_text(data: Instances, scope: Scope) -> pl.Series:
    """Return the texts in which concepts are looked for; of both, one after the other."""
    joined = pl.concat_str(SCOPE_COLUMNS[scope], separator=" ", ignore_nulls=True)
    return data.table.select(joined.fill_null("")).to_series()


def beside_rivals(values: Floats, data: Instances) -> Floats:
    """Return values of choices less the mean of the other choices of the same example; 0 where there is none."""
    sizes = np.bincount(data.example_codes)
    member = sparse.csr_matrix((np.ones(len(data)), (data.example_codes, np.arange(len(data)))))
    others = np.asarray(member @ values)[data.example_codes] - values
    count = (sizes - 1)[data.example_codes][:, None]
    return np.where(count > 0, values - others / np.maximum(count, 1), 0.0)


@dataclass(frozen=True, eq=False)
class ConceptFamily:
    """The concepts that `cuecard audit --only concepts` found and wrote to a card's folder, as features of any data.

    Args:
        place: the folder of the card.
        found: the concepts, where they are in memory.
    """

    name: ClassVar[str] = "concept"
    description: ClassVar[str] = "a concept that was found by the audit concepts: concept=FOLDER of its card"
    phrase: ClassVar[str] = "the concept “{}”"
    languages: ClassVar[frozenset[str] | None] = None
    from_place: ClassVar[bool] = True

    place: str = ""
    found: FoundConcepts | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Read the concepts at once, so that a wrong folder costs no time."""
        if self.found is None:
            object.__setattr__(self, "found", read_concepts(self.place))

    def presence(self, data: Encoded) -> Presence:
        """Return which instances have which concepts."""
        assert self.found is not None
        having = self.found.having(data.instances)
        return Presence.from_columns(
            {name: having[:, i] for i, name in enumerate(self.found.names)}, len(having)
        )


def read_concepts(place: str) -> FoundConcepts:
    """Return the concepts in the folder of a card."""
    if not place:
        raise UsageError(
            "The family 'concept' needs the folder of a card with concepts, such as --features concept=report; "
            "`cuecard audit … --only concepts --out report` writes one."
        )
    folder = Path(place)
    files = {name: folder / "tables" / f"{name}.parquet" for name in (CONCEPTS, WEIGHTS)}
    if not all(file.is_file() for file in files.values()):
        raise InputError(
            f"{place}: there is no card with concepts in this folder; `cuecard audit TRAIN --only concepts --out "
            "FOLDER` writes one."
        )
    try:
        return FoundConcepts.of_tables({name: pl.read_parquet(file) for name, file in files.items()})
    except (pl.exceptions.PolarsError, OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{place}: its tables of concepts cannot be read ({type(error).__name__})."
        ) from error
