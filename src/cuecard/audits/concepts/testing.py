"""Concepts are tested on the other half: like any cue, given length and words, and by the bits that they explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cuecard.audits.clusters.clustering import default_k
from cuecard.audits.concepts.finding import Halves, WordModel, label_z
from cuecard.data import Instances
from cuecard.models.linear.learner import LinearModel, softmax_within
from cuecard.stats.arrays import Bools, Floats, Ints, Singles
from cuecard.stats.clusters.k_means import k_means_centres, nearest_centres
from cuecard.stats.given_properties import GivenProperties, features_given
from cuecard.stats.scores.cross_fit_intervals import cross_fit_inflation

#: Words that say most of a label on the first half; given all of them, a concept is tested again.
STRONGEST_WORDS = 30
#: A word of fewer texts of the first half is not among them.
FEWEST_OF_WORD = 10
#: Folds of units in which bits are explained by what the other folds have shown.
FOLDS = 5
#: Inverse of the penalty of the models that turn concepts, clusters or words into probabilities.
STRENGTH = 0.1


@dataclass(frozen=True, eq=False)
class WordsOfHalf:
    """What the words of every instance of the second half say, by what was learned on the first.

    `margins` are those of the model of words; `present` are the strongest words, 0/1.
    """

    margins: Floats
    present: sparse.csr_matrix

    @property
    def columns(self) -> sparse.csr_matrix:
        """Margins, in standard deviations, and the strongest words."""
        scaled = (self.margins - self.margins.mean(axis=0)) / np.maximum(self.margins.std(axis=0), 1e-9)
        return sparse.hstack([sparse.csr_matrix(scaled), self.present], format="csr")


def words_of_half(model: WordModel, own: Instances, parts: Halves) -> WordsOfHalf:
    """Return what words say of the second half; `own` are the instances of the first."""
    strongest = _strongest(model.matrix[parts.finding], own)
    present = model.matrix[parts.testing][:, strongest] > 0
    return WordsOfHalf(model.margins[parts.testing], sparse.csr_matrix(present, dtype=np.float64))


def _strongest(matrix: sparse.csr_matrix, own: Instances) -> Ints:
    """Return the words whose label shares are furthest from all texts', in standard errors."""
    present = sparse.csr_matrix(matrix > 0, dtype=np.float64)
    enough = np.asarray(present.sum(axis=0)).ravel() >= FEWEST_OF_WORD
    z = np.where(enough, label_z(present, own.label_codes, len(own.labels)), 0.0)
    return np.argsort(-z, kind="stable")[:STRONGEST_WORDS]


def given_words(
    data: Instances, having: Bools, labels: Ints, words: WordsOfHalf, lengths: Ints, units: Ints
) -> tuple[Floats, Floats]:
    """Return z and log p of every concept and its label, given length and the strongest words.

    A score test of the concept in a logistic regression of its label on log length, plain and squared, and the
    strongest words; of choices, in a conditional one within examples.

    Args:
        data: the instances of the second half.
        having: instances × concepts.
        labels: the code of every concept's label.
        words: what the words of every instance say.
        lengths: tokens of every instance's text.
        units: codes that copies share.
    """
    logs = np.log1p(lengths.astype(np.float64))
    properties = np.column_stack([logs, logs**2, words.present.toarray()])
    z, log_p = np.full(having.shape[1], np.nan), np.zeros(having.shape[1])
    for label in np.unique(labels).tolist():
        of_label = np.flatnonzero(labels == label)
        present = sparse.csr_matrix(having[:, of_label].astype(np.float64))
        if data.grouped:  # the second label is the first one turned round
            test = features_given(data.label_codes == 0, data.example_codes, properties, present, units=units)
        else:
            test = _binary(data.label_codes == label, properties, present, units)
        z[of_label] = test.z if label == 0 or not data.grouped else -test.z
        log_p[of_label] = np.nan_to_num(test.log_p)
    return z, log_p


def _binary(hits: Bools, properties: Floats, present: sparse.csr_matrix, units: Ints) -> GivenProperties:
    """Return the test where each row has a label or not: a choice between the row and nothing."""
    n = len(hits)
    order = np.arange(2 * n).reshape(2, n).T.ravel()  # a row, then nothing in its place
    columns = np.column_stack([np.ones(n), properties])
    both = np.concatenate([columns, np.zeros_like(columns)])[order]
    features = sparse.vstack([present, sparse.csr_matrix(present.shape)], format="csr")[order]
    chosen = np.concatenate([hits, ~hits])[order]
    return features_given(chosen, np.repeat(np.arange(n), 2), both, features, units=np.repeat(units, 2))


@dataclass(frozen=True)
class Bits:
    """How many bits per example something explains of the label, on units that were not learned from."""

    value: float
    low: float
    high: float


def explained_bits(
    data: Instances, inputs: Mapping[str, sparse.spmatrix], units: Ints, *, seed: int
) -> dict[str, Bits]:
    """Return the bits that a linear model of each input explains beyond the shares of the labels.

    Every fold of units is predicted by a model of the others. Below 0: worse than the shares. The interval is that of a
    cross-fitted mean with units as its independent terms.
    """
    of_example = units[data.first_rows[:-1]]
    codes = np.unique(of_example, return_inverse=True)[1]
    fold_of_unit = np.random.default_rng(seed).permutation(int(codes.max(initial=-1)) + 1) % FOLDS
    fold = fold_of_unit[codes][data.example_codes]
    explained = {}
    for name, matrix in inputs.items():
        gained = np.zeros(data.n_examples)
        for held in range(FOLDS):
            there = fold == held
            if there.any() and not there.all():
                gained[np.unique(data.example_codes[there])] = _gained(
                    data, sparse.csr_matrix(matrix), there, seed
                )
        sums = np.bincount(codes, weights=gained - gained.mean())
        half = 1.96 * float(np.sqrt(cross_fit_inflation(FOLDS) * (sums @ sums))) / max(len(gained), 1)
        value = float(gained.mean())
        explained[name] = Bits(value, value - half, value + half)
    return explained


def _gained(data: Instances, matrix: sparse.csr_matrix, there: Bools, seed: int) -> Floats:
    """Return log2 of what the model gives the label of every held-out example, over what its share does."""
    learn, guess = np.flatnonzero(~there), np.flatnonzero(there)
    model = LinearModel(strength=STRENGTH, seed=seed)
    codes = data.label_codes
    if data.grouped:
        model.fit(matrix[learn], (codes[learn] == 0).astype(np.int64), groups=data.example_codes[learn])
        own = data.rows(there)
        p = softmax_within(model.decision_function(matrix[guess]), own.first_rows)
        sizes = np.diff(own.first_rows)
        return np.asarray(np.log2(p[own.label_codes == 0] * sizes))
    p = model.fit(matrix[learn], codes[learn]).predict_proba(matrix[guess])
    share = np.bincount(codes[learn], minlength=p.shape[1]) / len(learn)
    known = codes[guess] < p.shape[1]
    gold = np.minimum(codes[guess], p.shape[1] - 1)
    rows = np.arange(len(guess))
    return np.where(known, np.log2(np.maximum(p[rows, gold], 1e-6) / np.maximum(share[gold], 1e-6)), 0.0)


def clusters_of(own: Singles, second: Singles, first: Bools, *, seed: int) -> sparse.csr_matrix:
    """Return which cluster every vector of the second half is in: k-means of the first half, as in the cluster audit.

    `first` says which vectors of the first half count: one of all copies.
    """
    distinct = own[first]
    k = min(default_k(len(second))[0], len(np.unique(distinct, axis=0)))
    centres = k_means_centres(distinct, np.ones(len(distinct), dtype=np.int64), k, seed=seed)
    nearest, _ = nearest_centres(second, centres)
    return sparse.csr_matrix((np.ones(len(second)), (np.arange(len(second)), nearest)), (len(second), k))
