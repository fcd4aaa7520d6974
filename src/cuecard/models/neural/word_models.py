"""Recurrent models of word sequences, trained from scratch: `bilstm`, `siamese-lstm` and `esim`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args

import numpy as np

from cuecard.data import Examples, Instances
from cuecard.errors import UsageError
from cuecard.models.learner import check_parameters
from cuecard.models.neural.batches import Rows
from cuecard.models.neural.model import NeuralModel
from cuecard.models.neural.word_vectors import (
    Vocabulary,
    WordRows,
    check_width,
    cut,
    filed_vectors,
    vectors_digest,
)
from cuecard.models.saliency import TokenTexts
from cuecard.models.text_model import Weighting, visible
from cuecard.text import Tokens, encoded_texts, language_of, suggested_tokeniser

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from cuecard.models.neural.modules import Reader, WordSizes

#: Word vectors to begin with: learned from the training texts without labels, or random.
FirstVectors = Literal["cbow", "random"]


@dataclass
class WordModel(NeuralModel):
    """A model that reads texts as sequences of words with a vector each.

    Args:
        dimensions: of the word vectors.
        hidden: units of a recurrent layer, per direction.
        dropout: share of values left out while training.
        first_vectors: "cbow" learns word vectors from the (weighted) training texts first, "random" does not.
        vectors: a file of word vectors to begin with instead, in GloVe's text format; words that it lacks begin at
            random.
        tokens: tokeniser; the one that suits the language of the training texts by default.
        min_count: words that occur fewer times in the training texts are unknown.
        most_words: longer texts are cut to this many words: the first; of a question or prompt the last, where it
            says what is asked.
    """

    dimensions: int = 64
    hidden: int = 64
    dropout: float = 0.2
    first_vectors: FirstVectors = "cbow"
    vectors: str | None = None
    tokens: str | None = None
    min_count: int = 2
    most_words: int = 128

    vocabulary_: Vocabulary | None = field(default=None, init=False, repr=False)

    #: Whether premise and hypothesis are read as one sequence.
    joined: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        super().__post_init__()
        check_parameters(self, "dimensions", "hidden", "min_count", "most_words")
        if not 0 <= self.dropout < 1:
            raise UsageError(f"dropout must be at least 0 and below 1, not {self.dropout}.")
        if self.first_vectors not in get_args(FirstVectors):
            raise UsageError(f"first_vectors must be 'cbow' or 'random', not {self.first_vectors!r}.")

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the model."""
        if self.vocabulary_ is None:
            raise UsageError(f"The model {self.name!r} is not fitted: call fit or load first.")
        return self.vocabulary_

    def learn_reading(self, data: Instances) -> None:
        """Learn the vocabulary of the texts that may be read.

        The tokeniser goes by all texts, so that models under different conditions read the same words.
        """
        if self.vectors is not None:
            check_width(self.vectors, self.dimensions)
        tokeniser = self.tokens
        if tokeniser is None:
            tokeniser = suggested_tokeniser(language_of(data))
        texts = [text for text in self._visible(data, tokeniser) if text is not None]
        self.vocabulary_ = Vocabulary.learn(texts, tokeniser=tokeniser, min_count=self.min_count)

    def rows(self, data: Instances) -> WordRows:
        """Return the texts as sequences of word numbers."""
        premise, hypothesis = self._visible(data, self.vocabulary.tokeniser)
        return WordRows.of(
            premise,
            hypothesis,
            self.vocabulary,
            most_words=self.most_words,
            joined=self.joined,
            keep_end=data.grouped,
        )

    def token_texts(self, data: Instances) -> TokenTexts:
        """Return the words of every row's premise and hypothesis that are read, unknown ones too."""
        premise, hypothesis = self._visible(data, self.vocabulary.tokeniser)
        return self._words(premise, keep_end=data.grouped, n=len(data)), self._words(hypothesis, n=len(data))

    def _visible(self, data: Instances, tokeniser: str) -> tuple[Tokens | None, Tokens | None]:
        """Return the premises and hypotheses that may be read."""
        texts = encoded_texts(data, tokeniser)
        premise, hypothesis = visible(data, self.condition_)
        return None if premise is None else texts.premise, None if hypothesis is None else texts.hypothesis

    def _words(self, texts: Tokens | None, *, n: int, keep_end: bool = False) -> list[list[str]]:
        if texts is None:
            return [[] for _ in range(n)]
        tokens = cut(texts, self.most_words, keep_end=keep_end)
        return [tokens.words(i) for i in range(n)]

    def initialise(self, module: Reader, rows: Rows, examples: Examples) -> None:
        """Begin with the word vectors of a file, or those learned from the weighted texts."""
        if self.first_vectors == "random" and self.vectors is None:
            return
        import torch

        from cuecard.models.neural.word_vectors import cbow_vectors

        if self.vectors is not None:
            vectors = filed_vectors(self.vectors, self.vocabulary, self.dimensions, seed=self.seed)
        else:
            weights = np.repeat(examples.example_weights, examples.sizes)
            texts = cast(WordRows, rows).texts
            vectors = cbow_vectors(texts, weights, len(self.vocabulary), self.dimensions, seed=self.seed)
        with torch.no_grad():
            module.words.weight.copy_(torch.from_numpy(vectors))

    def outside(self) -> dict[str, str]:
        """Return a hash of the file of word vectors: the same path may hold others tomorrow."""
        return {} if self.vectors is None else {"vectors": vectors_digest(self.vectors)}

    def described(self) -> dict[str, Any]:
        """Return the epochs and the vocabulary."""
        vocabulary = {"tokeniser": self.vocabulary.tokeniser, "words": list(self.vocabulary.words)}
        return {**super().described(), "vocabulary": vocabulary}

    def take_description(self, description: Mapping[str, Any]) -> None:
        """Take the epochs and the vocabulary."""
        super().take_description(description)
        vocabulary = description["vocabulary"]
        self.vocabulary_ = Vocabulary(vocabulary["tokeniser"], tuple(vocabulary["words"]))

    def _sizes(self, outputs: int) -> WordSizes:
        from cuecard.models.neural.modules import WordSizes

        return WordSizes(len(self.vocabulary), self.dimensions, self.hidden, self.dropout, outputs)


@dataclass
class BiLSTM(WordModel):
    """Stubborn's model: three bidirectional LSTM layers over premise, a mark and hypothesis.

    The layers have `hidden`, 2 `hidden` and `hidden` / 2 units per direction; the paper's sizes are
    `dimensions=128, hidden=128`, the default is half of them. Word vectors begin as CBOW vectors of the same
    weighted training texts. Parameters are those of `WordModel` and `NeuralModel`.
    """

    name: ClassVar[str] = "bilstm"
    joined: ClassVar[bool] = True

    def build(self, outputs: int) -> Reader:
        """Return the module."""
        from cuecard.models.neural.modules import BiLSTMReader

        return BiLSTMReader(self._sizes(outputs))


@dataclass
class SiameseLSTM(WordModel):
    """Selection's model (section 5.2): one LSTM reads both texts, a perceptron compares what it made of them.

    The paper's settings are the defaults: 128 units, RMSProp at 0.001 that falls to a fifth when validation does
    not improve, gradients clipped at 5, batches of 256, 35 words, dropout 0.5, and weights as chances to be
    drawn. Its GloVe vectors are CBOW vectors of the training texts here. Other parameters are those of
    `WordModel` and `NeuralModel`.

    Args:
        fixed_words: whether word vectors stay as they are while the rest is trained, as the paper's did.
        comparison: the "product" of both representations, or their "dot" product, as the paper's did.
        layers: hidden layers of the perceptron; the paper's code has one.
    """

    name: ClassVar[str] = "siamese-lstm"

    epochs: int = 20
    batch_size: int = 256
    patience: int = 4
    weighting: Weighting = "sampler"
    decay: float = 0.2
    dimensions: int = 128
    hidden: int = 128
    dropout: float = 0.5
    most_words: int = 35
    fixed_words: bool = False
    comparison: Literal["product", "dot"] = "product"
    layers: int = 2

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        super().__post_init__()
        if self.comparison not in ("product", "dot"):
            raise UsageError(f"comparison must be 'product' or 'dot', not {self.comparison!r}.")
        if self.layers < 1:
            raise UsageError(f"layers must be at least 1, not {self.layers}.")

    def build(self, outputs: int) -> Reader:
        """Return the module."""
        from cuecard.models.neural.modules import SiameseReader

        dot = self.comparison == "dot"
        return SiameseReader(self._sizes(outputs), fixed_words=self.fixed_words, dot=dot, layers=self.layers)

    def optimiser(self, module: Reader) -> Optimizer:
        """Return RMSProp."""
        import torch

        trained = [p for p in module.parameters() if p.requires_grad]
        return torch.optim.RMSprop(trained, lr=self.learning_rate)


@dataclass
class PlainSiameseLSTM(SiameseLSTM):
    """The siamese LSTM as Selection's authors released it: dot product, one hidden layer, fixed vectors of 300.

    Their vectors are GloVe's: `vectors=FILE` reads them. Without a file, they are CBOW vectors of the training
    texts, and as fixed. Parameters are those of `SiameseLSTM`.
    """

    name: ClassVar[str] = "siamese-lstm-plain"

    dimensions: int = 300
    fixed_words: bool = True
    comparison: Literal["product", "dot"] = "dot"
    layers: int = 1


@dataclass
class ESIM(WordModel):
    """ESIM (Chen et al. 2017), compact: both texts read, softly aligned, compared, composed and pooled.

    Parameters are those of `WordModel` and `NeuralModel`.
    """

    name: ClassVar[str] = "esim"

    def build(self, outputs: int) -> Reader:
        """Return the module."""
        from cuecard.models.neural.modules import ESIMReader

        return ESIMReader(self._sizes(outputs))
