"""ESIM (Chen et al. 2017): each text is read, aligned with the other, compared and read again."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.modules.reader import Reader
from cuecard.models.neural.modules.recurrent import Bidirectional, mean_and_highest, places
from cuecard.models.neural.words.vocabulary import PADDING


class ESIMReader(Reader):
    """Input encoding, soft alignment, difference and product, composition, mean and highest."""

    def __init__(self, *, words: int, dimensions: int, hidden: int, dropout: float, outputs: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, dimensions, padding_idx=PADDING)
        self.dropout = nn.Dropout(dropout)
        self.encode = Bidirectional(dimensions, hidden)
        self.compare = nn.Sequential(nn.Linear(8 * hidden, hidden), nn.ReLU(), self.dropout)
        self.compose = Bidirectional(hidden, hidden)
        self.decide = nn.Sequential(self.dropout, nn.Linear(8 * hidden, hidden), nn.Tanh(), self.dropout)
        self.last = nn.Linear(hidden, outputs)

    def embedded(self, batch: Batch) -> list[Any]:
        """Return the word vectors of both texts."""
        return [self.words(words) for words in batch["words"]]

    def features_from(self, embedded: list[Any], batch: Batch) -> Any:
        """Return the hidden layer over both texts' means and highest values."""
        lengths = batch["lengths"]
        within = [places(n, e.shape[1]) for n, e in zip(lengths, embedded, strict=True)]
        first, second = (self.encode(self.dropout(e), n) for e, n in zip(embedded, lengths, strict=True))
        alike = first @ second.transpose(1, 2)
        of_second = _weights(alike, within[1]) @ second
        of_first = _weights(alike.transpose(1, 2), within[0]) @ first
        pooled = [
            mean_and_highest(self.compose(self.compare(_compared(own, other)), n), inside)
            for own, other, n, inside in zip(
                (first, second), (of_second, of_first), lengths, within, strict=True
            )
        ]
        return self.decide(torch.cat(pooled, dim=1))


def _weights(alike: Any, within: Any) -> Any:
    """Return how much each place attends to the places of the other text."""
    return alike.masked_fill(~within.unsqueeze(1), -math.inf).softmax(dim=2)


def _compared(own: Any, other: Any) -> Any:
    return torch.cat([own, other, own - other, own * other], dim=2)
