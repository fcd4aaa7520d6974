"""What a torch module of texts is: word vectors, then features, then one linear layer."""

from __future__ import annotations

from typing import Any

from torch import nn

from cuecard.models.neural.batches import Batch


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
