"""A Hugging Face classifier behind the three steps of a `Reader`."""

from __future__ import annotations

from typing import Any

from torch import nn

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.modules.reader import Reader

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
