"""Bias experts: models that answer from cues alone, so that another model can be kept from doing the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cuecard.data import Examples, Instances
from cuecard.data.splits.holdout import sentence_components
from cuecard.errors import InputError, UsageError
from cuecard.models.debiasing.cue_readers import JOINED, PAIR_GRAPH, WORDS, CueReader, check_cues
from cuecard.models.linear.learner import LinearModel
from cuecard.models.text_model import CONDITIONS, check_condition
from cuecard.stats.arrays import Floats, Ints


@dataclass(frozen=True)
class BiasExpert:
    """A linear model of cues, for the log-probability of every answer given the cues of an example.

    Args:
        cues: "words" (the words of highest z per label), "hypothesis", "premise" or "choices" (all n-grams of that part
            of the input), "pair-graph" (how often both sentences occur, and two-step walks between them), a feature
            family, such as "length", "overlap", "negation" or "bigram", or one feature, such as "word:nobody". Several
            are joined by a plus: "words+length", "word:nobody+word:sleeping".
        per_label: words per label that "words" takes.
        folds: parts of the training set; each is predicted by an expert that was fitted on the others.
        strength: inverse of the penalty, scikit-learn's C.
        seed: of the folds.
    """

    cues: str = WORDS
    per_label: int = 50
    folds: int = 5
    strength: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the name at once, so that a typo costs no time."""
        check_cues(self.cues)

    def check(self, data: Instances) -> None:
        """Raise if the data has no such part of the input."""
        for part in self.cues.split(JOINED):
            if part in CONDITIONS:
                check_condition(data, part)
            if part == PAIR_GRAPH and data.task != "pair":
                raise UsageError(
                    f"The expert {PAIR_GRAPH} only applies to pairs; this dataset holds {data.task} data."
                )

    def cross_fitted(self, train: Instances) -> Floats:
        """Return log-probabilities of the training examples, each from an expert that has not seen its sentences."""
        rows = self.reader(train).rows(train)
        return cross_fitted(rows, train, folds=self.folds, strength=self.strength, seed=self.seed)

    def log_probabilities(self, train: Instances, part: Instances) -> Floats:
        """Return log-probabilities of the examples of a part, from an expert fitted on the training set."""
        reader = self.reader(train)
        model = fit_expert(reader.rows(train), train, strength=self.strength, seed=self.seed)
        return expert_log_probabilities(model, reader.rows(part), part)

    def reader(self, train: Instances) -> CueReader:
        """Return what turns rows into the features of the expert."""
        self.check(train)
        return CueReader(train, self.cues, self.per_label)


def fit_expert(
    features: sparse.csr_matrix,
    train: Instances,
    rows: Ints | None = None,
    *,
    strength: float = 1.0,
    seed: int = 0,
) -> LinearModel:
    """Return the linear model of features of the training rows, or of some of them (whole examples)."""
    chosen = np.arange(len(train)) if rows is None else rows
    model = LinearModel(strength=strength, seed=seed)
    if not train.grouped:
        return model.fit(features[chosen], train.label_codes[chosen])
    right = (train.label_codes[chosen] == 0).astype(np.int64)
    return model.fit(features[chosen], right, groups=train.example_codes[chosen])


def expert_log_probabilities(model: LinearModel, features: sparse.csr_matrix, part: Instances) -> Floats:
    """Return a row per example and a column per answer; −∞ for a choice that a question does not have."""
    if not part.grouped:
        log_probabilities = np.log(np.maximum(model.predict_proba(features), 1e-12))
        missing = len(part.labels) - log_probabilities.shape[1]
        return np.pad(log_probabilities, ((0, 0), (0, missing)), constant_values=np.log(1e-12))
    each = model.predict_proba(features, groups=part.example_codes)
    return by_example(np.log(np.maximum(each, 1e-12)), part, empty=-np.inf)


def by_example(values: Floats, part: Instances, *, empty: float) -> Floats:
    """Return one value per row as examples × choices."""
    sizes = np.diff(part.first_rows)
    matrix = np.full((len(sizes), int(sizes.max(initial=0))), empty)
    matrix[np.arange(matrix.shape[1])[None, :] < sizes[:, None]] = values
    return matrix


def cross_fitted(
    features: sparse.csr_matrix, train: Instances, *, folds: int = 5, strength: float = 1.0, seed: int = 0
) -> Floats:
    """Return log-probabilities of the training examples from experts that saw no sentence of theirs.

    Examples that share a sentence are in one fold, unless that would tie most of the examples together.
    """
    examples = Examples(train)
    fold = _folds(train, folds, seed)
    answers = int(examples.options.max(initial=0))
    log_probabilities = np.full((len(examples), answers), -np.inf)
    for number in np.unique(fold):
        held = np.flatnonzero(fold == number)
        others = examples.rows(np.flatnonzero(fold != number))
        if len(np.unique(train.label_codes[others])) < 2:
            raise InputError("The bias expert needs training examples of at least two labels in every fold.")
        model = fit_expert(features, train, others, strength=strength, seed=seed)
        here = train.rows(np.isin(train.example_codes, held))
        scored = expert_log_probabilities(model, features[examples.rows(held)], here)
        log_probabilities[held, : scored.shape[1]] = scored
    return log_probabilities


def _folds(train: Instances, folds: int, seed: int) -> Ints:
    groups = sentence_components(train)
    sizes = np.bincount(groups)
    if sizes.max() > len(groups) / 2:
        groups = np.arange(len(groups))
    order = np.random.default_rng(seed).permutation(int(groups.max()) + 1)
    return np.asarray(order[groups] % folds)
