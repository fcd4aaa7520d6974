"""Averaged vectors of hashed word n-grams under a softmax (Joulin et al. 2017), trained by a compiled loop."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, get_args

import numpy as np
from scipy import sparse

from cuecard.data import Instances
from cuecard.models.examples import Epoch, training_examples
from cuecard.models.learner import check_parameters, held_out_examples
from cuecard.models.linear.input_features import FeatureBlocks, InputRows, Reading, State, WordBlock
from cuecard.models.ngram_models.descent import Bags, Descent, DescentSettings
from cuecard.models.ngram_models.model import NGramModel
from cuecard.models.saved import Arrays, Checkpoint, expected
from cuecard.models.text_model import Condition, FitJob, Kind, Weighting, check_objective
from cuecard.stats.arrays import Bools, Floats, Singles

#: Where the number of epochs is not set, about this many examples are visited, within these bounds.
VISITS = 500_000
MINIMUM_EPOCHS, MAXIMUM_EPOCHS = 5, 50


@dataclass
class FastText(NGramModel):
    """One vector per feature, averaged over the features of a row, and a softmax over labels or choices.

    Features are those of the linear model: n-grams of the hypothesis, words of the premise, words of the
    hypothesis with whether the premise has them, lengths and overlap. Each kind is averaged by itself, words
    weighted by inverse document frequency. One thread, one example at a time, a learning rate that falls to 0:
    the same seed gives the same model, and a run that was stopped ends as one that was not.

    Args:
        dimensions: length of the vectors.
        epochs: passes over the data; by default about 500,000 visits to examples, in 5 to 50 passes.
        learning_rate: of the first step; it falls to 0 linearly.
        patience: epochs in a row without a better validation accuracy (equal accuracy: lower loss) to stop after.
        held_out: share of the training examples held out for validation where no validation split is given.
        weighting: whether weights multiply the "loss" (an example of more than four times the mean is visited several
            times per epoch, each time with its share) or are chances of a "sampler" that draws with replacement.
    """

    name: ClassVar[str] = "fasttext"

    dimensions: int = 16
    epochs: int | None = None
    learning_rate: float = 0.1
    patience: int = 3
    held_out: float = 0.1
    weighting: Weighting = "loss"

    history_: tuple[Epoch, ...] = field(default=(), init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        check_parameters(self, "dimensions", "epochs", "patience", "ngrams")

    def learn(self, job: FitJob) -> None:
        """Learn from every row of the job's data."""
        examples = training_examples(job.data, job.weights)
        check_objective(self.objective, self.name, get_args(Kind))
        training = Bags(self.features(self.learn_reading(job.data, job.condition)), examples)
        self.labels_ = examples.labels
        judged, held = self._validation(job.validation, training)
        learned = np.flatnonzero(~held)
        epochs = self.epochs or min(max(math.ceil(VISITS / len(learned)), MINIMUM_EPOCHS), MAXIMUM_EPOCHS)
        state = None
        if job.checkpoint is not None:
            state = Checkpoint(Path(job.checkpoint), self.identity(job, examples))
        settings = DescentSettings(
            outputs=self.n_outputs,
            dimensions=self.dimensions,
            epochs=epochs,
            learning_rate=self.learning_rate,
            patience=self.patience,
            sampled=self.weighting == "sampler",
            seed=self.seed,
        )
        run = Descent(training, learned, settings, self.objective)
        record = [training] if job.dynamics else []
        if record and job.validation is not None and judged is not None:
            record.append(judged)
        run.run(judged, record=record, held_out=held, state=state, watch=job.watch)
        self.vectors_, self.output_, self.bias_ = run.best[:3]
        self.history_, self.dynamics_ = tuple(run.history), run.recorder.dynamics

    def embed(self, data: Instances) -> Floats:
        """Return one vector per row: the average, which enters the softmax."""
        return self._averages(self.features(self.read(data))).astype(np.float64)

    def margins(self, features: sparse.csr_matrix) -> Floats:
        """Return rows × labels, or for data whose rows compete one number per row."""
        margins = self._averages(features).astype(np.float64) @ self.output_.T.astype(np.float64)
        return margins[:, 0] if self.grouped else margins + self.bias_

    def gains(self) -> Floats:
        """Return the products of the features' vectors and the labels'."""
        return self.vectors_.astype(np.float64) @ self.output_.T.astype(np.float64)

    def learned(self) -> State:
        """Return all vectors."""
        return {"vectors": self.vectors_, "output": self.output_, "bias": self.bias_}

    def take_learned(self, arrays: Arrays) -> None:
        """Take all vectors."""
        # The loops trust these shapes.
        self.vectors_ = expected(arrays, "vectors", np.float32, self.n_features, self.dimensions)
        self.output_ = expected(arrays, "output", np.float32, self.n_outputs, self.dimensions)
        self.bias_ = expected(arrays, "bias", np.float32, self.n_outputs)

    def blocks(self, rows: InputRows) -> list[sparse.csr_matrix]:
        """Return every kind of features of the rows, words as shares of an average."""
        return [
            _averaged(block, share) if name.endswith("words") else block
            for block, (name, (_, share)) in zip(
                super().blocks(rows), self.feature_blocks().items(), strict=True
            )
        ]

    def _averages(self, features: sparse.csr_matrix) -> Singles:
        return np.asarray(features.astype(np.float32, copy=False) @ self.vectors_)

    def set_last_layer(self, weights: Floats, intercept: Floats) -> None:
        """Take another last layer: weights are labels × dimensions."""
        self.output_, self.bias_ = weights.astype(np.float32), intercept.astype(np.float32)

    def _validation(self, validation: Instances | None, training: Bags) -> tuple[Bags | None, Bools]:
        """Return the validation examples, and which training examples are not learned from."""
        n = len(training.examples)
        if validation is None:
            held = held_out_examples(n, self.held_out, self.seed)
            return (training.part(np.flatnonzero(held)) if held.any() else None), held
        examples = self.validation_examples(validation)
        return Bags(self.features(self.read(validation)), examples), np.zeros(n, np.bool_)


@dataclass
class PlainFastText(FastText):
    """fastText as published (Joulin et al. 2017): one average over the n-grams of one text, and a softmax.

    Premise and hypothesis are one text, one after the other; nothing says which words they share or how long they
    are, and every n-gram counts alike. All examples are learned from, for as many epochs as are set. Parameters are
    those of `FastText`.
    """

    name: ClassVar[str] = "fasttext-plain"

    held_out: float = 0.0

    def feature_blocks(self) -> FeatureBlocks:
        """Return the n-grams of the texts that may be read."""
        sides: dict[Condition, Reading] = {"full": "joined", "premise": "premise"}
        return {"words": (WordBlock(sides.get(self.condition_, "hypothesis"), self.ngrams, equal=True), 1.0)}


def _averaged(block: sparse.csr_matrix, share: float) -> sparse.csr_matrix:
    """Return rows of values that sum to the share; a row of nothing stays so."""
    block = sparse.csr_matrix(block, copy=True)
    totals = np.asarray(block.sum(axis=1)).ravel()
    block.data *= np.repeat(share / np.maximum(totals, 1e-300), np.diff(block.indptr))
    return block
