"""Three bidirectional LSTM layers over premise and hypothesis as one sequence."""

from __future__ import annotations

from typing import Any

from torch import nn

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.modules.reader import Reader
from cuecard.models.neural.modules.recurrent import Bidirectional, last_states
from cuecard.models.neural.words.vocabulary import PADDING


class BiLSTMReader(Reader):
    """Layers of hidden, 2 hidden and hidden / 2 units per direction; the ends of the third are the features."""

    def __init__(self, *, words: int, dimensions: int, hidden: int, dropout: float, outputs: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, dimensions, padding_idx=PADDING)
        sizes = [hidden, 2 * hidden, max(hidden // 2, 1)]
        inputs = [dimensions, 2 * sizes[0], 2 * sizes[1]]
        self.layers = nn.ModuleList(Bidirectional(i, h) for i, h in zip(inputs, sizes, strict=True))
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(2 * sizes[2], outputs)

    def embedded(self, batch: Batch) -> list[Any]:
        """Return the word vectors of the one sequence."""
        return [self.words(batch["words"][0])]

    def features_from(self, embedded: list[Any], batch: Batch) -> Any:
        """Return the states both directions of the third layer end with."""
        states, lengths = embedded[0], batch["lengths"][0]
        for layer in self.layers:
            states = layer(self.dropout(states), lengths)
        return self.dropout(last_states(states, lengths))
