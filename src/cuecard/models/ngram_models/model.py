"""What the models of word n-grams share, and the linear one: reading texts as features, predicting, saliency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import softmax

from cuecard.data import Instances
from cuecard.models.examples import training_examples
from cuecard.models.learner import Learner, Recorder
from cuecard.models.linear.input_features import (
    FeatureBlocks,
    InputRows,
    State,
    WordBlock,
    feature_blocks,
    side_by_side,
)
from cuecard.models.linear.learner import LinearModel, softmax_within
from cuecard.models.linear.ngram_features import BITS, HashColumns, word_keys
from cuecard.models.saliency import SaliencyMaps, TokenTexts, in_table
from cuecard.models.saved import Arrays, expected
from cuecard.models.text_model import Condition, FitJob, Step, check_condition, check_objective, visible
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints
from cuecard.text import encode


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

    #: Tokeniser and language, as they were found in training.
    reading_: tuple[str, str] = field(default=("", ""), init=False, repr=False)
    #: What every kind of features learned of the train rows.
    states_: dict[str, State] = field(default_factory=dict, init=False, repr=False)

    # What a kind of model implements.

    def margins(self, features: sparse.csr_matrix) -> Floats:
        """Return rows × labels, or for data whose rows compete one number per row."""
        raise NotImplementedError

    def gains(self) -> Floats:
        """Return what one unit of every feature adds to the margins: features × labels, or × 1."""
        raise NotImplementedError

    def learned(self) -> State:
        """Return the weights of the features, by name."""
        raise NotImplementedError

    def take_learned(self, arrays: Arrays) -> None:
        """Take what `learned` returned; raise a ValueError or KeyError if it does not fit what else is known."""
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
        return _ngram_saliency(self, data)

    def token_texts(self, data: Instances) -> TokenTexts:
        """Return the words of every row's premise and hypothesis that may be read."""
        rows = self.read(data)
        seen = visible(data, self.condition_)
        premise, hypothesis = (
            [[] if text is None else tokens.words(i) for i in range(len(tokens))]
            for text, tokens in zip(seen, (rows.encoded.premise, rows.encoded.hypothesis), strict=True)
        )
        return premise, hypothesis

    def arrays(self) -> Arrays:
        """Return what every kind of features learned, and the weights of the features."""
        states = {
            f"{name}/{key}": value for name, state in self.states_.items() for key, value in state.items()
        }
        return {**states, **self.learned()}

    def take(self, arrays: Arrays) -> None:
        """Take what `arrays` returned."""
        for key in [key for key in arrays if "/" in key]:
            name, entry = key.split("/")
            self.states_.setdefault(name, {})[entry] = arrays[key]
        self.take_learned(arrays)

    def described(self) -> dict[str, list[str]]:
        """Return tokeniser and language."""
        return {"reading": list(self.reading_)}

    def take_description(self, description: Mapping[str, Any]) -> None:
        """Take tokeniser and language."""
        tokeniser, language = description["reading"]
        self.reading_ = tokeniser, language

    # What subclasses use.

    @property
    def n_features(self) -> int:
        """How many features a row has; raises a ValueError or KeyError if what was learned of them is not whole."""
        return sum(
            block.width(self.states_.get(name, {})) for name, (block, _) in self.feature_blocks().items()
        )

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
        self.check_fitted(data)
        return self.input_rows(data)

    def input_rows(self, data: Instances) -> InputRows:
        """Return rows of data in the tokens of the training rows."""
        tokeniser, language = self.reading_
        return InputRows(encode(data, tokens=tokeniser, language=language), data.first_rows)

    def feature_blocks(self) -> FeatureBlocks:
        """Return the kinds of features."""
        return feature_blocks(self.task_, self.condition_, ngrams=self.ngrams)

    def blocks(self, rows: InputRows) -> list[sparse.csr_matrix]:
        """Return every kind of features of the rows, each with the share that it gets."""
        return [
            share * block.maker(self.states_.get(name, {}))(rows)
            for name, (block, share) in self.feature_blocks().items()
        ]

    def features(self, rows: InputRows) -> sparse.csr_matrix:
        """Return all features of the rows."""
        return side_by_side(*self.blocks(rows))

    def probabilities(self, features: sparse.csr_matrix, first_row: Ints) -> Floats:
        """Return rows × labels, or each row's chance to be the right one of its example."""
        margins = self.margins(features)
        return softmax_within(margins, first_row) if self.grouped else np.asarray(softmax(margins, axis=1))


def _ngram_saliency(model: NGramModel, data: Instances) -> SaliencyMaps:
    """Return for every word the norm, over the features it is part of, of the gradient of the prediction.

    The gradient is that of the predicted label's probability with respect to a feature's presence, its value in
    the row times its weight along the change of the margins. Of data whose rows compete, that of a row's score.
    """
    rows = model.read(data)
    direction = _direction(model, rows)
    squares = {side: np.zeros(len(rows.tokens(side).ids)) for side in ("premise", "hypothesis")}
    gains, first = model.gains(), 0
    keys = word_keys(rows.encoded.vocabulary)
    for block, (name, (kind, _)) in zip(model.blocks(rows), model.feature_blocks().items(), strict=True):
        block_gains = gains[first : first + block.shape[1]]
        first += block.shape[1]
        if not isinstance(kind, WordBlock):
            continue
        column = HashColumns(model.states_[name]["slots"], model.states_[name]["idf"]).numbers
        values = block.data * np.einsum(
            "ij,ij->i", block_gains[block.indices], np.repeat(direction, np.diff(block.indptr), axis=0)
        )
        entries = (block.indptr.astype(np.int64), block.indices.astype(np.int32), values)
        scratch, mask = np.zeros(block.shape[1]), (1 << BITS) - 1
        premise, hypothesis = rows.encoded.premise, rows.encoded.hypothesis
        if kind.side is None:
            stamp = np.full(len(keys), -1, dtype=np.int64)
            _native.add_shared(
                *entries, premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets, keys, mask,
                column, scratch, stamp, squares["premise"], squares["hypothesis"],
            )  # fmt: skip
        else:
            tokens = rows.tokens(kind.side)
            norms = np.zeros(len(tokens.ids))
            _native.add_ngrams(
                *entries, tokens.ids, tokens.offsets, keys, kind.ngrams, mask, column, scratch, norms
            )
            if kind.side != "joined":
                squares[kind.side] += norms
            else:
                lengths = np.column_stack([premise.lengths, hypothesis.lengths]).ravel()
                of_premise = np.repeat(np.tile([True, False], len(tokens)), lengths)
                squares["premise"] += norms[of_premise]
                squares["hypothesis"] += norms[~of_premise]
    seen = {"full": ("premise", "hypothesis"), "premise": ("premise",)}.get(model.condition_, ("hypothesis",))
    tables = [_table(rows, squares, side, side in seen) for side in ("premise", "hypothesis")]
    return SaliencyMaps.normalised(tables[0][0], tables[1][0], tables[0][1], tables[1][1])


def _direction(model: NGramModel, rows: InputRows) -> Floats:
    """Return how the predicted label's probability changes with the margins, up to a factor per row."""
    if model.grouped:
        return np.ones((len(rows.data), 1))
    margins = model.margins(model.features(rows))
    each, predicted = np.arange(len(margins)), margins.argmax(axis=1)
    margins[each, predicted] = -np.inf
    direction = np.asarray(-softmax(margins, axis=1))
    direction[each, predicted] = 1
    return direction


def _table(rows: InputRows, squares: dict[str, Floats], side: str, seen: bool) -> tuple[Floats, Ints]:
    """Return the norms of one text's words as rows × places; no places if the model may not read it."""
    tokens = rows.tokens("premise" if side == "premise" else "hypothesis")
    if not seen:
        return np.zeros((len(tokens), 0)), np.zeros(len(tokens), np.int64)
    lengths = tokens.lengths
    inside = np.arange(int(lengths.max(initial=0))) < lengths[:, None]
    table = np.zeros(inside.shape)
    table[inside] = np.sqrt(squares[side])
    return in_table(table, inside)


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
