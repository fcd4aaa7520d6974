"""Concepts are found on one half of the units: sparse directions of embeddings, and what words leave unexplained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import sparse
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from cuecard.data import Instances
from cuecard.models.discovered_concepts import (
    WORDS,
    FoundConcepts,
    beside_rivals,
    scoped_text,
    text_vectors,
)
from cuecard.models.embeddings import WeightedWords, largest_components
from cuecard.models.linear.learner import LinearModel, softmax_within
from cuecard.stats.arrays import Bools, Codes, Floats, Ints, Matrix, Singles
from cuecard.stats.sparse_dictionary import skewed_directions, sparse_dictionary
from cuecard.stats.units.codes import first_of_code
from cuecard.text import Scope

#: Streams of random numbers that no seed of a user's own draws shares: of the halves, and of folds within the first.
HALVES, FOLDS = 36_001, 36_002
#: Dimensions of the embedding by words.
DIMENSIONS = 128
#: Texts for each direction that is looked for, the bounds of their number, and how many of them make up a text.
TEXTS_PER_DIRECTION, FEWEST_DIRECTIONS, MOST_DIRECTIONS = 30, 16, 64
ACTIVE = 4
#: Directions along which few texts lie far out, at most.
MOST_SKEWED = 16
#: A concept of fewer texts of the first half cannot be tested, and one of more is the usual text.
FEWEST_TEXTS, LEAST_COVERAGE, MOST_COVERAGE = 20, 0.01, 0.3
#: Share of the texts that have a concept found by labels, or by what words leave unexplained of them: those with the
#: highest scores.
COVERAGE_OF_LABEL, COVERAGE_OF_UNEXPLAINED = 0.1, 0.2
#: Standard errors by which labels of the first half differ with a concept that is tested: fewer tests find more.
PROMISING = 1.5
#: Coverages at which scores may be divided.
COVERAGES = 12
#: Two concepts are one if their texts agree this far (Jaccard index).
SAME = 0.5
#: Inverse of the penalty on the weights of words.
STRENGTH = 4.0
#: Margin of a label that no row has.
OF_NO_ROW = -10.0
#: Penalty on directions of what is unexplained, in mean variances of a dimension.
SHRINKAGE = 0.3


def row_units(train: Instances, scope: Scope) -> Ints:
    """Return a code that training rows share which are one observation: copies of a text, or of a question."""
    return train.units("choices" if train.grouped else "example" if scope == "both" else scope)


def first_copies(data: Instances, units: Ints) -> Bools:
    """Return which rows are the first of their unit: of questions with the same choices, all choices of the first."""
    if not data.grouped:
        return first_of_code(units)
    return first_of_code(units[data.first_rows[:-1]])[data.example_codes]


@dataclass(frozen=True, eq=False)
class Halves:
    """Which training rows concepts are found on and which they are tested on; no unit has rows in both."""

    finding: Bools
    testing: Bools


def halves(train: Instances, scope: Scope, *, seed: int) -> Halves:
    """Return the training rows in two halves, of whole units: copies of a text, or of a question.

    Choices may occur in several questions: a question of the second half that offers a text of the first is left out,
    unless all questions offer the same ones.
    """
    units = row_units(train, scope)
    drawn = np.random.default_rng((HALVES, seed)).random(int(units.max(initial=-1)) + 1) < 0.5
    finding = drawn[units]
    testing = ~finding
    if train.grouped and not train.fixed_options:
        texts = train.units("hypothesis")
        seen = np.zeros(int(texts.max(initial=-1)) + 1, dtype=np.bool_)
        seen[texts[finding]] = True
        known = np.zeros(train.n_examples, dtype=np.bool_)
        np.logical_or.at(known, train.example_codes, seen[texts] & testing)
        testing &= ~known[train.example_codes]
    return Halves(finding, testing)


@dataclass(frozen=True, eq=False)
class WordModel:
    """What the words of a text say about its label: learned on one half, with guesses for all rows.

    `margins` are rows × labels (rows × 1 of choices: how far each is from being the right one), those of the first half
    from models that have not seen their unit; `gold` are its labels in the same form, and `unexplained` those less the
    probabilities of these margins. `slopes` are words × labels.
    """

    matrix: sparse.csr_matrix
    words: WeightedWords
    slopes: Floats
    margins: Floats
    gold: Bools
    unexplained: Floats


def word_model(
    data: Instances, finding: Bools, units: Ints, scope: Scope, tokens: str, *, seed: int
) -> WordModel:
    """Return the model of words, learned on the rows of `finding`."""
    texts = scoped_text(data, scope)
    words = WeightedWords.of(texts.filter(pl.Series(finding)), tokens)
    matrix = words.rows(texts, tokens)
    rows = np.flatnonzero(finding)
    width = 1 if data.grouped else len(data.labels)
    margins = np.zeros((len(data), width))

    def learned(some: Ints, guessed: Ints) -> Floats:
        slopes, intercept = _fitted(matrix, data, some, seed)
        margins[guessed] = matrix[guessed] @ slopes + intercept
        return slopes

    slopes = learned(rows, np.flatnonzero(~finding))
    fold = np.random.default_rng((FOLDS, seed)).random(int(units.max(initial=-1)) + 1) < 0.5
    first = fold[units[rows]]
    for side in (first, ~first):
        learned(rows[~side], rows[side])
    if data.grouped:
        own = data.rows(finding)
        p = softmax_within(margins[rows, 0], own.first_rows)[:, None]
        gold = (own.label_codes == 0)[:, None]
    else:
        odds = np.exp(margins[rows] - margins[rows].max(axis=1, keepdims=True))
        p = odds / odds.sum(axis=1, keepdims=True)
        gold = data.label_codes[rows][:, None] == np.arange(width)
    return WordModel(matrix, words, slopes, margins, gold, gold - p)


def _fitted(matrix: sparse.csr_matrix, data: Instances, learn: Ints, seed: int) -> tuple[Floats, Floats]:
    """Return the slopes and the intercept of a model of some rows; zeros where these have too few labels."""
    width = 1 if data.grouped else len(data.labels)
    codes = data.label_codes[learn]
    if len(np.unique(codes)) < 2:
        return np.zeros((matrix.shape[1], width)), np.zeros(width)
    model = LinearModel(strength=STRENGTH, seed=seed)
    if data.grouped:
        model.fit(matrix[learn], (codes == 0).astype(np.int64), groups=data.example_codes[learn])
        return model.coef_[:, None], model.intercept_
    model.fit(matrix[learn], codes)
    beyond = width - model.coef_.shape[1]  # labels that no row has
    slopes = np.pad(model.coef_, ((0, 0), (0, beyond)))
    return slopes, np.pad(model.intercept_, (0, beyond), constant_values=OF_NO_ROW)


@dataclass(frozen=True, eq=False)
class TextSpace:
    """How texts become vectors: by an encoder, or by their words and the basis that was learned on the first half."""

    embedding: str
    tokens: str
    scope: Scope
    words: WeightedWords | None = None
    basis: Singles | None = None

    @classmethod
    def of(
        cls, model: WordModel, finding: Bools, embedding: str, tokens: str, scope: Scope, *, seed: int
    ) -> TextSpace:
        """Return the space of an embedding; the one of words is learned from the rows of `finding`."""
        if embedding != WORDS:
            return cls(embedding, tokens, scope)
        matrix = sparse.csr_matrix(model.matrix[finding])
        rank = max(min(DIMENSIONS, *(side - 1 for side in matrix.shape)), 1)
        with threadpool_limits(limits=1):
            _, _, right = largest_components(matrix, rank, seed=seed)
        return cls(embedding, tokens, scope, model.words, np.asarray(right.T, dtype=np.float32))

    def vectors(self, data: Instances) -> Singles:
        """Return a vector for every instance."""
        if self.words is None or self.basis is None:
            return text_vectors(data, self.embedding, self.scope)
        rows = self.words.rows(scoped_text(data, self.scope), self.tokens)
        return np.asarray(rows @ self.basis, dtype=np.float32)

    def weights(self, directions: Singles) -> Singles:
        """Return what every word, or dimension of the encoder, adds to the scores of directions of this space."""
        return directions if self.basis is None else np.asarray(self.basis @ directions, dtype=np.float32)

    def concepts(
        self, weights: Singles, thresholds: Floats, relative: Bools, names: Sequence[str]
    ) -> FoundConcepts:
        """Return concepts with such weights."""
        return FoundConcepts(
            tuple(names), weights, thresholds, relative, self.embedding, self.tokens, self.scope, self.words
        )


class _Directions(NamedTuple):
    """Weights as columns, whether scores are beside rivals, and the share of texts with each where it is set."""

    weights: Singles
    relative: bool
    coverage: float | None = None


def find_concepts(
    own: Instances, units: Ints, model: WordModel, space: TextSpace, *, seed: int
) -> FoundConcepts:
    """Return the concepts of the instances of the first half, by numbers.

    Directions come from a sparse dictionary of the embedding, in which each text is a sum of a few; from the labels;
    and from what words leave unexplained of each label. Of choices, all are also looked for in their difference from
    their rivals. Those of which the labels of the first half say nothing are left out, and need not be tested on the
    second.
    """
    first = first_copies(own, units)
    vectors = space.vectors(own)
    beside = vectors
    found = [_Directions(space.weights(_without_labels(vectors[first], seed=seed)), False)]
    if own.grouped:
        beside = beside_rivals(vectors.astype(np.float64), own).astype(np.float32)
        found.append(_Directions(space.weights(_without_labels(beside[first], seed=seed)), True))
    # By words, what the model of words has learned says most: few of its words are in a basis of fewer dimensions.
    by_label = model.slopes if space.embedding == WORDS else _slopes(beside, model.gold)
    found.append(_Directions(_of_each(by_label), own.grouped, COVERAGE_OF_LABEL))
    unexplained = space.weights(_of_each(_slopes(beside, model.unexplained)))
    found.append(_Directions(unexplained, own.grouped, COVERAGE_OF_UNEXPLAINED))
    weights = np.concatenate([some.weights for some in found], axis=1)
    relative = np.concatenate([np.full(some.weights.shape[1], some.relative) for some in found])
    numbers = [str(i) for i in range(weights.shape[1])]
    scores = space.concepts(weights, np.zeros(len(numbers)), relative, numbers).scores(own)[first]
    coverages = [some.coverage for some in found for _ in range(some.weights.shape[1])]
    divided = [_divided(scores[:, i], coverage) for i, coverage in enumerate(coverages)]
    thresholds = np.array([one.threshold for one in divided])
    having = scores > thresholds
    kept = _distinct(having, np.array([one.clearness for one in divided]))
    z = label_z(having[:, kept].astype(np.float64), own.label_codes[first], len(own.labels))
    kept = [i for i, strength in zip(kept, z, strict=True) if strength >= PROMISING]
    return space.concepts(weights[:, kept], thresholds[kept], relative[kept], [str(i) for i in kept])


def _without_labels(vectors: Singles, *, seed: int) -> Singles:
    """Return the directions of a sparse dictionary, and those along which few texts lie far out, as columns."""
    size = int(np.clip(len(vectors) // TEXTS_PER_DIRECTION, FEWEST_DIRECTIONS, MOST_DIRECTIONS))
    dictionary = sparse_dictionary(vectors, size, ACTIVE, seed=seed)
    skewed = skewed_directions(vectors, MOST_SKEWED, seed=seed)
    return np.concatenate([dictionary.encoder[dictionary.usage > 0].T, skewed], axis=1)


def _slopes(vectors: Singles, values: Matrix) -> Floats:
    """Return the slopes of a ridge regression of every column of values on the vectors."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    covariance = centred.T @ centred / len(centred)
    penalty = SHRINKAGE * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    return np.asarray(np.linalg.solve(covariance + penalty, centred.T @ values / len(centred)))


def _of_each(slopes: Floats) -> Singles:
    """Return for every label the direction of length one in which it lies from the others, as columns.

    The slopes of choices are those of the right one, and the wrong ones lie in the opposite direction.
    """
    of_each = (
        np.column_stack([slopes, -slopes])
        if slopes.shape[1] == 1
        else slopes - slopes.mean(axis=1, keepdims=True)
    )
    lengths = np.linalg.norm(of_each, axis=0)
    return np.asarray((of_each / np.maximum(lengths, 1e-12))[:, lengths > 1e-9], dtype=np.float32)


class _Division(NamedTuple):
    """Where scores are divided, and how much clearer the two groups are than those of a normal distribution."""

    threshold: float
    clearness: float


def _divided(scores: Floats, coverage: float | None) -> _Division:
    """Return the threshold above which few scores lie that differ most from all others, or a share of all.

    It is that of Otsu (1979), where the variance between the two groups is largest: of the coverages that a concept may
    have, the one at which it exceeds most what dividing a normal distribution there gives. What is given a coverage
    says most of the labels, and is never left out as a duplicate of something clearer.
    """
    if coverage is not None:
        return _Division(_threshold(scores, coverage), np.inf)
    rising = np.sort(scores)
    n = len(rising)
    spread = float(rising.var())
    least = max(LEAST_COVERAGE, min(FEWEST_TEXTS / n, MOST_COVERAGE))
    coverages = np.geomspace(least, MOST_COVERAGE, COVERAGES)
    place = np.clip(np.rint((1 - coverages) * n).astype(np.int64), 1, n - 1)
    share = 1 - place / n
    below = np.cumsum(rising)[place - 1] / place
    above = (rising.sum() - below * place) / (n - place)
    between = share * (1 - share) * (above - below) ** 2 / max(spread, 1e-12)
    normal = np.exp(-(ndtri(share) ** 2)) / (2 * np.pi * share * (1 - share))
    best = int((between - normal).argmax())
    threshold = (rising[place[best] - 1] + rising[place[best]]) / 2
    return _Division(float(threshold), float((between - normal)[best]))


def label_z(having: Matrix, codes: Codes, n_labels: int) -> Floats:
    """Return for every column how far the share of some label is from that of all texts, in standard errors."""
    labels = sparse.csr_matrix((np.ones(len(codes)), (np.arange(len(codes)), codes)), (len(codes), n_labels))
    counts = np.asarray(
        (labels.T @ having) if isinstance(having, np.ndarray) else (labels.T @ having).todense()
    ).T
    n, prior = counts.sum(axis=1, keepdims=True), np.bincount(codes, minlength=n_labels) / len(codes)
    spread = np.sqrt(np.maximum(n * prior * (1 - prior), 1e-9))
    return np.asarray((np.abs(counts - n * prior) / spread).max(axis=1))


def _threshold(scores: Floats, coverage: float) -> float:
    """Return the score that this share of the texts exceed, halfway between two texts."""
    rising = np.sort(scores)
    place = int(np.clip(round((1 - coverage) * len(rising)), 1, len(rising) - 1))
    return float((rising[place - 1] + rising[place]) / 2)


def _distinct(having: Bools, clearness: Floats) -> list[int]:
    """Return the columns that are no duplicate of a clearer one before them, the clearest first."""
    present = having.astype(np.float64)
    together, sizes = present.T @ present, present.sum(axis=0)
    kept: list[int] = []
    for i in np.argsort(-clearness, kind="stable").tolist():
        shared = together[i, kept] / np.maximum(sizes[i] + sizes[kept] - together[i, kept], 1)
        if sizes[i] and not (shared >= SAME).any():
            kept.append(i)
    return kept
