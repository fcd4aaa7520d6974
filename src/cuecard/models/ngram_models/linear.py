"""The partial-input audit's learner as a model of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from cuecard.data import Instances
from cuecard.models.examples import training_examples
from cuecard.models.learner import Recorder
from cuecard.models.linear.input_features import State
from cuecard.models.linear.learner import LinearModel
from cuecard.models.ngram_models.model import NGramModel
from cuecard.models.saved import Arrays, expected
from cuecard.models.text_model import FitJob, Step, check_objective
from cuecard.stats.arrays import Floats


@dataclass
class LinearText(NGramModel):
    """Multinomial logistic regression on word n-grams, shared words and lengths.

    Its loss has one minimum, found up to `tolerance` in seconds: nothing is held out to stop early on, and a
    run that was stopped is simply run again.

    Args:
        strength: inverse of the penalty, scikit-learn's C.
        tolerance: duality gap per example to stop at.
        epochs: passes over the data after which to stop anyway.
    """

    name: ClassVar[str] = "linear"

    strength: float = 1.0
    tolerance: float = 1e-4
    epochs: int = 60

    def learn(self, job: FitJob) -> None:
        """Learn from every row of the job's data; `validation` and `checkpoint` are not needed and not looked at."""
        check_objective(self.objective, self.name)
        examples = training_examples(job.data, job.weights)
        rows = self.learn_reading(job.data, job.condition)
        features = self.features(rows)
        self.linear_ = LinearModel(self.strength, self.tolerance, self.epochs, self.seed)
        recorder = Recorder([examples] if job.dynamics else [])

        def each_epoch() -> None:
            if job.dynamics:
                recorder.add([self.probabilities(features, rows.first_row)])
            if job.watch is not None:
                done = self.linear_.epochs_
                job.watch(Step(done, self.epochs, done, self.epochs, self.linear_.gap_))

        y, groups = examples.gold, None
        if examples.grouped:
            y, groups = np.zeros(len(job.data), np.int64), job.data.example_codes
            y[examples.right_rows] = 1
        row_weights = np.repeat(examples.example_weights, examples.sizes)
        self.linear_.fit(features, y, sample_weight=row_weights, groups=groups, each_epoch=each_epoch)
        self.dynamics_ = recorder.dynamics
        self.labels_ = examples.labels

    def embed(self, data: Instances) -> Floats:
        """Return what every kind of features adds to every label's margin: kinds × labels columns.

        The features themselves, which enter the last layer, would be a column for every n-gram of the train data.
        """
        parts, first, gains = [], 0, self.gains()
        for block in self.blocks(self.read(data)):
            parts.append(np.asarray(block @ gains[first : first + block.shape[1]]))
            first += block.shape[1]
        return np.column_stack(parts)

    def margins(self, features: sparse.csr_matrix) -> Floats:
        """Return rows × labels, or for data whose rows compete one number per row."""
        return self.linear_.decision_function(features)

    def gains(self) -> Floats:
        """Return the weights of the features."""
        return self.linear_.coef_.reshape(len(self.linear_.coef_), -1)

    def learned(self) -> State:
        """Return weights and intercept."""
        return {"coef": self.linear_.coef_, "intercept": self.linear_.intercept_}

    def take_learned(self, arrays: Arrays) -> None:
        """Take weights and intercept."""
        self.linear_ = LinearModel(self.strength, self.tolerance, self.epochs, self.seed)
        per_feature = () if self.grouped else (self.n_outputs,)
        self.linear_.coef_ = expected(arrays, "coef", np.float64, self.n_features, *per_feature)
        self.linear_.intercept_ = expected(arrays, "intercept", np.float64, self.n_outputs)
