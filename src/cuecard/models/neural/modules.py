"""Torch modules that read texts: word vectors, then features, then one linear layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.word_vectors import PADDING


class Reader(nn.Module):
    """A module in three steps, so that one can look between them.

    A subclass sets `last`, a linear layer from features to outputs, and implements `embedded` (a list of rows ×
    places × dimensions tensors, one per sequence) and `features_from`.
    """

    last: nn.Linear

    def embedded(self, batch: Batch) -> list[Tensor]:
        """Return the vectors of the tokens, from which everything else follows."""
        raise NotImplementedError

    def features_from(self, embedded: list[Tensor], batch: Batch) -> Tensor:
        """Return what enters the last layer: rows × dimensions."""
        raise NotImplementedError

    def features(self, batch: Batch) -> Tensor:
        """Return what enters the last layer."""
        return self.features_from(self.embedded(batch), batch)

    def forward_from(self, embedded: list[Tensor], batch: Batch) -> Tensor:
        """Return the outputs for given token vectors, so that gradients with respect to them can be taken."""
        return self.last(self.features_from(embedded, batch))

    def forward(self, batch: Batch) -> Tensor:
        """Return rows × labels, or rows × 1 for data whose rows compete."""
        return self.last(self.features(batch))


@dataclass(frozen=True)
class WordSizes:
    """Sizes of a module of word sequences: known words, dimensions of their vectors, hidden units, outputs."""

    words: int
    dimensions: int
    hidden: int
    dropout: float
    outputs: int


class WordReader(Reader):
    """A module that begins with a vector per word."""

    def __init__(self, sizes: WordSizes) -> None:
        super().__init__()
        self.words = nn.Embedding(sizes.words, sizes.dimensions, padding_idx=PADDING)

    def embedded(self, batch: Batch) -> list[Tensor]:
        """Return the word vectors of every sequence."""
        return [self.words(words) for words in batch["words"]]


def places(lengths: Tensor, longest: int) -> Tensor:
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

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        """Return rows × places × 2 hidden; what stands at padded places means nothing."""
        n, longest, _ = vectors.shape
        at = torch.arange(longest, device=vectors.device)
        mirrored = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
        mirrored = (mirrored + longest * torch.arange(n, device=vectors.device)[:, None]).flatten()
        onward, _ = self.onward(vectors)
        turned, _ = self.backward_(_reordered(vectors, mirrored))
        return torch.cat([onward, _reordered(turned, mirrored)], dim=2)


def _reordered(vectors: Tensor, order: Tensor) -> Tensor:
    return vectors.reshape(-1, vectors.shape[2]).index_select(0, order).view(vectors.shape)


def last_states(states: Tensor, lengths: Tensor) -> Tensor:
    """Return what both directions end with: the onward one at the last place, the backward one at the first."""
    half = states.shape[2] // 2
    return torch.cat([at_last_place(states[:, :, :half], lengths), states[:, 0, half:]], dim=1)


def at_last_place(states: Tensor, lengths: Tensor) -> Tensor:
    """Return the state at the last place of every row."""
    return states[torch.arange(len(states), device=states.device), lengths - 1]


def mean_and_highest(states: Tensor, within: Tensor) -> Tensor:
    """Return mean and highest value of every dimension over the places of a row."""
    inside = within.unsqueeze(2)
    mean = (states * inside).sum(dim=1) / inside.sum(dim=1)
    return torch.cat([mean, states.masked_fill(~inside, -math.inf).amax(dim=1)], dim=1)


class BiLSTMReader(WordReader):
    """Layers of hidden, 2 hidden and hidden / 2 units per direction; the ends of the third are the features."""

    def __init__(self, sizes: WordSizes) -> None:
        super().__init__(sizes)
        units = [sizes.hidden, 2 * sizes.hidden, max(sizes.hidden // 2, 1)]
        inputs = [sizes.dimensions, 2 * units[0], 2 * units[1]]
        self.layers = nn.ModuleList(Bidirectional(i, h) for i, h in zip(inputs, units, strict=True))
        self.dropout = nn.Dropout(sizes.dropout)
        self.last = nn.Linear(2 * units[2], sizes.outputs)

    def features_from(self, embedded: list[Tensor], batch: Batch) -> Tensor:
        """Return the states both directions of the third layer end with."""
        states, lengths = embedded[0], batch["lengths"][0]
        for layer in self.layers:
            states = layer(self.dropout(states), lengths)
        return self.dropout(last_states(states, lengths))


class RowNorm(nn.BatchNorm1d):
    """Batch normalisation that takes a batch of one row, which has no spread of its own, by the running figures."""

    def forward(self, rows: Tensor) -> Tensor:
        """Return the rows normalised."""
        if self.training and len(rows) == 1:
            mean, variance = self.running_mean, self.running_var
            return nn.functional.batch_norm(rows, mean, variance, self.weight, self.bias, eps=self.eps)
        return super().forward(rows)


class SiameseReader(WordReader):
    """Both representations and their product go through hidden layers, each normalised.

    With `dot`, the product is their dot product, one number.
    """

    def __init__(self, sizes: WordSizes, *, fixed_words: bool, dot: bool = False, layers: int = 2) -> None:
        super().__init__(sizes)
        self.words.weight.requires_grad_(not fixed_words)
        hidden = sizes.hidden
        self.lstm = nn.LSTM(sizes.dimensions, hidden, batch_first=True)
        self.dot = dot
        widths = [2 * hidden + 1 if dot else 3 * hidden, *[hidden] * layers]
        hidden_layers = [
            part for width in widths[:-1] for part in (nn.Linear(width, hidden), nn.ReLU(), RowNorm(hidden))
        ]
        self.compare = nn.Sequential(*hidden_layers, nn.Dropout(sizes.dropout))
        self.last = nn.Linear(hidden, sizes.outputs)

    def features_from(self, embedded: list[Tensor], batch: Batch) -> Tensor:
        """Return the last hidden layer."""
        first, second = (
            at_last_place(self.lstm(vectors)[0], lengths)
            for vectors, lengths in zip(embedded, batch["lengths"], strict=True)
        )
        product = first * second
        compared = product.sum(dim=1, keepdim=True) if self.dot else product
        return self.compare(torch.cat([first, second, compared], dim=1))


class ESIMReader(WordReader):
    """Input encoding, soft alignment, difference and product, composition, mean and highest."""

    def __init__(self, sizes: WordSizes) -> None:
        super().__init__(sizes)
        hidden = sizes.hidden
        self.dropout = nn.Dropout(sizes.dropout)
        self.encode = Bidirectional(sizes.dimensions, hidden)
        self.compare = nn.Sequential(nn.Linear(8 * hidden, hidden), nn.ReLU(), self.dropout)
        self.compose = Bidirectional(hidden, hidden)
        self.decide = nn.Sequential(self.dropout, nn.Linear(8 * hidden, hidden), nn.Tanh(), self.dropout)
        self.last = nn.Linear(hidden, sizes.outputs)

    def features_from(self, embedded: list[Tensor], batch: Batch) -> Tensor:
        """Return the hidden layer over both texts' means and highest values."""
        lengths = batch["lengths"]
        within = [places(n, e.shape[1]) for n, e in zip(lengths, embedded, strict=True)]
        first, second = (self.encode(self.dropout(e), n) for e, n in zip(embedded, lengths, strict=True))
        alike = first @ second.transpose(1, 2)
        of_second = _weights(alike, within[1]) @ second
        of_first = _weights(alike.transpose(1, 2), within[0]) @ first
        pooled = [
            mean_and_highest(self.compose(self.compare(_compared(states, attended)), n), inside)
            for states, attended, n, inside in zip(
                (first, second), (of_second, of_first), lengths, within, strict=True
            )
        ]
        return self.decide(torch.cat(pooled, dim=1))


def _weights(alike: Tensor, within: Tensor) -> Tensor:
    """Return how much each place attends to the places of the other text."""
    return alike.masked_fill(~within.unsqueeze(1), -math.inf).softmax(dim=2)


def _compared(states: Tensor, attended: Tensor) -> Tensor:
    return torch.cat([states, attended, states - attended, states * attended], dim=2)


_INPUTS = ("attention_mask", "token_type_ids")


class TransformerReader(Reader):
    """A model for sequence classification; its state is that of the wrapped model, under the same names."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    @property
    def last(self) -> nn.Linear:
        """The classifier's last linear layer."""
        return [module for module in self.model.modules() if isinstance(module, nn.Linear)][-1]

    def embedded(self, batch: Batch) -> list[Tensor]:
        """Return the vectors of the word pieces, before positions are added."""
        return [self.model.get_input_embeddings()(batch["input_ids"])]

    def forward(self, batch: Batch) -> Tensor:
        """Return rows × labels, or rows × 1 for data whose rows compete."""
        return self.model(input_ids=batch["input_ids"], **_others(batch)).logits

    def forward_from(self, embedded: list[Tensor], batch: Batch) -> Tensor:
        """Return the outputs for given vectors of the word pieces."""
        return self.model(inputs_embeds=embedded[0], **_others(batch)).logits

    def features_from(self, embedded: list[Tensor], batch: Batch) -> Tensor:
        """Return what enters the last layer, for given vectors of the word pieces."""
        return self._entering(lambda: self.forward_from(embedded, batch))

    def features(self, batch: Batch) -> Tensor:
        """Return what enters the last layer."""
        return self._entering(lambda: self.forward(batch))

    def mean_of_tokens(self, batch: Batch) -> Tensor:
        """Return the mean of the last layer over the tokens, of a model that is no classifier."""
        states = self.model(input_ids=batch["input_ids"], **_others(batch)).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
        return (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)

    def before_activation(self, batch: Batch) -> Tensor:
        """Return the layer below the last one before its non-linearity; what enters the last where there is none."""
        below = [module for module in self.model.modules() if isinstance(module, nn.Linear)][:-1]
        seen: list[Tensor] = []
        hooks = [module.register_forward_hook(lambda _, __, output: seen.append(output)) for module in below]
        try:
            entering = self.features(batch)
        finally:
            for hook in hooks:
                hook.remove()
        return next((output for output in reversed(seen) if output.shape == entering.shape), entering)

    def _entering(self, run: Callable[[], object]) -> Tensor:
        seen: list[Tensor] = []
        hook = self.last.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        try:
            run()
        finally:
            hook.remove()
        return seen[0] if seen[0].dim() == 2 else seen[0][:, 0]

    def state_dict(self, *arguments: object, **options: object) -> dict[str, Tensor]:
        """Return the wrapped model's weights, under the names that transformers knows."""
        state: dict[str, Tensor] = self.model.state_dict(*arguments, **options)
        return state

    def load_state_dict(self, state: Mapping[str, Tensor], *arguments: object, **options: object) -> object:
        """Take the wrapped model's weights."""
        return self.model.load_state_dict(state, *arguments, **options)


def _others(batch: Batch) -> dict[str, Tensor]:
    return {name: batch[name] for name in _INPUTS if name in batch}
