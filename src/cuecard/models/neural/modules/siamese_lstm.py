"""One LSTM reads both texts; a perceptron compares what it made of them (Selection 5.2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.modules.reader import Reader
from cuecard.models.neural.modules.recurrent import at_last_place
from cuecard.models.neural.words.vocabulary import PADDING


class RowNorm(nn.BatchNorm1d):
    """Batch normalisation that takes a batch of one row, which has no spread of its own, by the running figures."""

    def forward(self, rows: Any) -> Any:
        """Return the rows normalised."""
        if self.training and len(rows) == 1:
            mean, variance = self.running_mean, self.running_var
            return nn.functional.batch_norm(rows, mean, variance, self.weight, self.bias, eps=self.eps)
        return super().forward(rows)


class SiameseReader(Reader):
    """Both representations and their product go through hidden layers, each normalised.

    With `dot`, the product is their dot product, one number.
    """

    def __init__(
        self,
        *,
        words: int,
        dimensions: int,
        hidden: int,
        dropout: float,
        outputs: int,
        fixed_words: bool,
        dot: bool = False,
        layers: int = 2,
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(words, dimensions, padding_idx=PADDING)
        self.words.weight.requires_grad_(not fixed_words)
        self.lstm = nn.LSTM(dimensions, hidden, batch_first=True)
        self.dot = dot
        widths = [2 * hidden + 1 if dot else 3 * hidden, *[hidden] * layers]
        hidden_layers = [
            part for width in widths[:-1] for part in (nn.Linear(width, hidden), nn.ReLU(), RowNorm(hidden))
        ]
        self.compare = nn.Sequential(*hidden_layers, nn.Dropout(dropout))
        self.last = nn.Linear(hidden, outputs)

    def embedded(self, batch: Batch) -> list[Any]:
        """Return the word vectors of both texts."""
        return [self.words(words) for words in batch["words"]]

    def features_from(self, embedded: list[Any], batch: Batch) -> Any:
        """Return the last hidden layer."""
        first, second = (
            at_last_place(self.lstm(vectors)[0], lengths)
            for vectors, lengths in zip(embedded, batch["lengths"], strict=True)
        )
        product = first * second
        compared = product.sum(dim=1, keepdim=True) if self.dot else product
        return self.compare(torch.cat([first, second, compared], dim=1))
