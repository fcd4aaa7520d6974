"""What the models of word n-grams share: reading texts as features, predicting, saving and loading."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.special import softmax

from cuecard.data import GROUPED_TASKS, TASKS, Instances, Task
from cuecard.errors import InputError, UsageError
from cuecard.models.dynamics import Dynamics
from cuecard.models.linear.input_features import FeatureBlocks, InputRows, State, feature_blocks, side_by_side
from cuecard.models.linear.learner import softmax_within
from cuecard.models.saliency.maps import SaliencyMaps, TokenTexts
from cuecard.models.saved import DESCRIPTION, WEIGHTS, read_description, safe_weights
from cuecard.models.tensor_file import read_arrays, write_arrays
from cuecard.models.text_model import CONDITIONS, Condition, Learner, check_condition, visible
from cuecard.stats.arrays import Floats, Ints
from cuecard.text import Encoded, encode
from cuecard.writing import write_json


@dataclass
class NGramModel(Learner):
    """A model whose margins are sums over features: a subclass learns what each feature adds to them.

    Words are known by hashes of their letters, so that texts unseen in training have the same features; those
    that train did not have twice are left out.

    Args:
        ngrams: longest n-gram, in words.
        tokens: tokenisation; what suits the language by default.
        seed: of everything that is drawn.
    """

    ngrams: int = 2
    tokens: str | None = None
    seed: int = 0

    labels_: tuple[str, ...] = field(default=(), init=False, repr=False)
    task_: Task = field(default="pair", init=False, repr=False)
    condition_: Condition = field(default="full", init=False, repr=False)
    dynamics_: Dynamics | None = field(default=None, init=False, repr=False)
    #: Tokeniser and language, as they were found in training.
    reading_: tuple[str, str] = field(default=("", ""), init=False, repr=False)
    #: What every kind of features learned of the train rows.
    states_: dict[str, State] = field(default_factory=dict, init=False, repr=False)

    name: ClassVar[str]

    # What a kind of model implements.

    def margins(self, features: sparse.csr_matrix) -> Floats:
        """Return rows × labels, or for data whose rows compete one number per row."""
        raise NotImplementedError

    def gains(self) -> Floats:
        """Return what one unit of every feature adds to the margins: features × labels, or × 1."""
        raise NotImplementedError

    def arrays(self) -> State:
        """Return what was learned, by name."""
        raise NotImplementedError

    def take(self, arrays: State) -> None:
        """Take what `arrays` returned; raise a ValueError or KeyError if it does not fit what else is known."""
        raise NotImplementedError

    # What the contract of text models asks for.

    def predict_proba(self, data: Instances) -> Floats:
        """Return rows × labels; for choice and preference data one number per row, which sum to 1 per example."""
        rows = self.read(data)
        return self.probabilities(self.features(rows), rows.first_row)

    def saliency(self, data: Instances) -> SaliencyMaps:
        """Return how much every word matters to the prediction of its row.

        The input of these models is which features are present, so gradients are taken with respect to that: a
        word's relevance is the norm over the features it is part of. (With respect to vectors that are averaged,
        the gradient is the same for every word and would carry no information.)
        """
        from cuecard.models.ngram_models.saliency import ngram_saliency

        return ngram_saliency(self, data)

    def token_texts(self, data: Instances) -> TokenTexts:
        """Return the words of every row's premise and hypothesis that may be read."""
        rows = self.read(data)
        seen = visible(data, self.condition_)
        premise, hypothesis = (
            [[] if text is None else tokens.words(i) for i in range(len(tokens))]
            for text, tokens in zip(seen, (rows.encoded.premise, rows.encoded.hypothesis), strict=True)
        )
        return premise, hypothesis

    def save(self, folder: Path) -> None:
        """Write the model to a folder: parameters as JSON, numbers as safetensors, nothing pickled."""
        self._check_fitted()
        folder = Path(folder)
        states = {
            f"{name}/{key}": value for name, state in self.states_.items() for key, value in state.items()
        }
        write_arrays(folder / WEIGHTS, {**states, **self.arrays()})
        description = {
            "model": self.name,
            "parameters": self.parameters(),
            "labels": list(self.labels_),
            "task": self.task_,
            "condition": self.condition_,
            "reading": list(self.reading_),
        }
        write_json(folder / DESCRIPTION, description)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote."""
        folder = Path(folder)
        description = read_description(folder)
        if description.get("model") != cls.name:
            raise InputError(f"{folder} holds a model {description.get('model')!r}, not {cls.name!r}.")
        arrays = read_arrays(safe_weights(folder))
        try:
            model = cls(**description["parameters"])
            model.labels_, model.task_ = tuple(description["labels"]), description["task"]
            model.condition_, model.reading_ = description["condition"], tuple(description["reading"])
            for key in [key for key in arrays if "/" in key]:
                name, entry = key.split("/")
                model.states_.setdefault(name, {})[entry] = arrays.pop(key)
            model._check_description()
            model.take(arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"The model in {folder} is damaged or of another version ({error}).") from None
        return model

    # What subclasses use.

    @property
    def grouped(self) -> bool:
        """Whether the rows of an example compete."""
        return self.task_ in GROUPED_TASKS

    @property
    def n_features(self) -> int:
        """How many features a row has; raises a ValueError or KeyError if what was learned of them is not whole."""
        return sum(
            block.width(self.states_.get(name, {})) for name, (block, _) in self.feature_blocks().items()
        )

    @property
    def n_outputs(self) -> int:
        """How many margins a row has."""
        return 1 if self.grouped else len(self.labels_)

    def learn_reading(self, data: Instances, condition: Condition) -> InputRows:
        """Learn from train texts how texts are read; return the training rows."""
        check_condition(data, condition)
        self.task_, self.condition_ = data.task, condition
        encoded = encode(data, tokens=self.tokens)
        self.reading_ = (encoded.tokeniser, encoded.language)
        rows = InputRows(encoded, data.first_rows)
        self.states_ = {name: block.learn(rows, None) for name, (block, _) in self.feature_blocks().items()}
        return rows

    def read(self, data: Instances) -> InputRows:
        """Return rows of data as they are read in this model, or raise if it cannot read them."""
        self._check_fitted()
        if data.task != self.task_ and not (data.grouped and self.grouped):
            raise UsageError(f"This model was fitted on {self.task_} data and cannot read {data.task} data.")
        tokeniser, language = self.reading_
        encoded: Encoded = encode(data, tokens=tokeniser, language=language)
        return InputRows(encoded, data.first_rows)

    def feature_blocks(self) -> FeatureBlocks:
        """Return the kinds of features."""
        return feature_blocks(self.task_, self.condition_, ngrams=self.ngrams)

    def blocks(self, rows: InputRows) -> list[sparse.csr_matrix]:
        """Return every kind of features of the rows, each with the share that it gets."""
        return [
            share * block.make(rows, self.states_.get(name, {}))
            for name, (block, share) in self.feature_blocks().items()
        ]

    def features(self, rows: InputRows) -> sparse.csr_matrix:
        """Return all features of the rows."""
        return side_by_side(*self.blocks(rows))

    def probabilities(self, features: sparse.csr_matrix, first_row: Ints) -> Floats:
        """Return rows × labels, or each row's chance to be the right one of its example."""
        margins = self.margins(features)
        return softmax_within(margins, first_row) if self.grouped else np.asarray(softmax(margins, axis=1))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def _check_description(self) -> None:
        valid = self.task_ in TASKS and self.condition_ in CONDITIONS
        if not valid or len(self.labels_) < 2 or len(self.reading_) != 2:
            raise ValueError("task, condition, labels or reading are not those of a model")

    def _check_fitted(self) -> None:
        if not self.labels_:
            raise UsageError(f"The model {self.name!r} is not fitted: call fit or load first.")
