"""Torch modules that read texts: word vectors, then features, then one linear layer."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.word_rows import PADDING


class Reader(nn.Module):
    """A module in three steps, so that one can look between them.

    A subclass sets `last`, a linear layer from features to outputs, and implements `embedded` (a list of rows ×
    places × dimensions tensors, one per sequence) and `features_from`.
    """

    last: Any

    def embedded(self, batch: Batch) -> list[Any]:
        """Return the vectors of the tokens, from which everything else follows."""
        raise NotImplementedError

    def features_from(self, embedded: list[Any], batch: Batch) -> Any:
        """Return what enters the last layer: rows × dimensions."""
        raise NotImplementedError

    def features(self, batch: Batch) -> Any:
        """Return what enters the last layer."""
        return self.features_from(self.embedded(batch), batch)

    def forward_from(self, embedded: list[Any], batch: Batch) -> Any:
        """Return the outputs for given token vectors, so that gradients with respect to them can be taken."""
        return self.last(self.features_from(embedded, batch))

    def forward(self, batch: Batch) -> Any:
        """Return rows × labels, or rows × 1 for data whose rows compete."""
        return self.last(self.features(batch))


def places(lengths: Any, longest: int) -> Any:
    """Return rows × places: whether a place is within its row's length."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


class Bidirectional(nn.Module):
    """An LSTM in both directions.

    The backward one reads every row from its own last place, so that padding at the end is never read before the
    words. This gives what packed sequences give, at about half their time on a CPU.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.onward = nn.LSTM(inputs, hidden, batch_first=True)
        self.backward_ = nn.LSTM(inputs, hidden, batch_first=True)

    def forward(self, vectors: Any, lengths: Any) -> Any:
        """Return rows × places × 2 hidden; what stands at padded places means nothing."""
        n, longest, _ = vectors.shape
        at = torch.arange(longest, device=vectors.device)
        mirrored = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
        mirrored = (mirrored + longest * torch.arange(n, device=vectors.device)[:, None]).flatten()
        onward, _ = self.onward(vectors)
        turned, _ = self.backward_(_reordered(vectors, mirrored))
        return torch.cat([onward, _reordered(turned, mirrored)], dim=2)


def _reordered(vectors: Any, order: Any) -> Any:
    return vectors.reshape(-1, vectors.shape[2]).index_select(0, order).view(vectors.shape)


def last_states(states: Any, lengths: Any) -> Any:
    """Return what both directions end with: the onward one at the last place, the backward one at the first."""
    half = states.shape[2] // 2
    return torch.cat([at_last_place(states[:, :, :half], lengths), states[:, 0, half:]], dim=1)


def at_last_place(states: Any, lengths: Any) -> Any:
    """Return the state at the last place of every row."""
    return states[torch.arange(len(states), device=states.device), lengths - 1]


def mean_and_highest(states: Any, within: Any) -> Any:
    """Return mean and highest value of every dimension over the places of a row."""
    inside = within.unsqueeze(2)
    mean = (states * inside).sum(dim=1) / inside.sum(dim=1)
    return torch.cat([mean, states.masked_fill(~inside, -math.inf).amax(dim=1)], dim=1)


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


_INPUTS = ("attention_mask", "token_type_ids")


class TransformerReader(Reader):
    """A model for sequence classification; its state is that of the wrapped model, under the same names."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    @property
    def last(self) -> Any:
        """The classifier's last linear layer."""
        return [module for module in self.model.modules() if isinstance(module, nn.Linear)][-1]

    def embedded(self, batch: Batch) -> list[Any]:
        """Return the vectors of the word pieces, before positions are added."""
        return [self.model.get_input_embeddings()(batch["input_ids"])]

    def forward(self, batch: Batch) -> Any:
        """Return rows × labels, or rows × 1 for data whose rows compete."""
        return self.model(input_ids=batch["input_ids"], **_others(batch)).logits

    def forward_from(self, embedded: list[Any], batch: Batch) -> Any:
        """Return the outputs for given vectors of the word pieces."""
        return self.model(inputs_embeds=embedded[0], **_others(batch)).logits

    def features_from(self, embedded: list[Any], batch: Batch) -> Any:
        """Return what enters the last layer, for given vectors of the word pieces."""
        return self._entering(lambda: self.forward_from(embedded, batch))

    def features(self, batch: Batch) -> Any:
        """Return what enters the last layer."""
        return self._entering(lambda: self.forward(batch))

    def before_activation(self, batch: Batch) -> Any:
        """Return the layer below the last one before its non-linearity; what enters the last where there is none."""
        below = [module for module in self.model.modules() if isinstance(module, nn.Linear)][:-1]
        seen: list[Any] = []
        hooks = [module.register_forward_hook(lambda _, __, output: seen.append(output)) for module in below]
        try:
            entering = self.features(batch)
        finally:
            for hook in hooks:
                hook.remove()
        return next((output for output in reversed(seen) if output.shape == entering.shape), entering)

    def _entering(self, run: Any) -> Any:
        seen: list[Any] = []
        hook = self.last.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        try:
            run()
        finally:
            hook.remove()
        return seen[0].reshape(len(seen[0]), -1) if seen[0].dim() == 2 else seen[0][:, 0]

    def state_dict(self, *arguments: Any, **options: Any) -> Any:
        """Return the wrapped model's weights, under the names that transformers knows."""
        return self.model.state_dict(*arguments, **options)

    def load_state_dict(self, state: Any, *arguments: Any, **options: Any) -> Any:
        """Take the wrapped model's weights."""
        return self.model.load_state_dict(state, *arguments, **options)


def _others(batch: Batch) -> dict[str, Any]:
    return {name: batch[name] for name in _INPUTS if name in batch}
