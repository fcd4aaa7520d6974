"""Losses of torch models, one number per example of a batch: for labels, and for debiasing."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cuecard.models.neural.batches import Batch
from cuecard.models.neural.modules import Reader
from cuecard.models.text_model import Objective
from cuecard.stats.arrays import Floats, Ints


def answer_table(outputs: Tensor, sizes: Ints | None) -> Tensor:
    """Return rows × labels as they are; rows × 1 where the rows of an example compete as examples × choices.

    An example with fewer rows than the largest has choices of no chance.
    """
    if sizes is None:
        return outputs
    owner = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table = outputs.new_full((len(sizes), int(sizes.max())), -math.inf)
    table[torch.from_numpy(owner), torch.from_numpy(place)] = outputs.squeeze(1)
    return table


def losses(outputs: Tensor, sizes: Ints | None, gold: Tensor) -> Tensor:
    """Return the cross-entropy of every example.

    Args:
        outputs: rows × labels; or rows × 1 where the rows of an example compete.
        sizes: in the latter case, how many rows each example has.
        gold: of every example the column of its label, or the place of its right row.
    """
    return functional.cross_entropy(answer_table(outputs, sizes), gold.to(outputs.device), reduction="none")


#: What training adds to a module for its time: the mixing layer, and the weights of groups.
MIXING, GROUP_WEIGHTS = "mixing", "group_weights"


class TrainedFor:
    """An objective while a module is trained for it: what it adds to the module is taken away at the end."""

    def __init__(self, objective: Objective, module: Reader) -> None:
        self.objective, self.module = objective, module
        if objective.kind == "learned-mixin":
            module.add_module(MIXING, nn.Linear(module.last.in_features, 1))
        if objective.groups is not None:
            count = int(objective.groups.max()) + 1
            module.register_buffer(GROUP_WEIGHTS, torch.full((count,), 1 / count))

    def detach(self) -> None:
        """Leave the module as it was built, with what it learned."""
        self.module._modules.pop(MIXING, None)
        self.module._buffers.pop(GROUP_WEIGHTS, None)

    def losses(self, inputs: Batch, sizes: Ints | None, gold: Tensor, numbers: Ints) -> Tensor:
        """Return the loss of every example; `numbers` are theirs among all training examples."""
        features = self.module.features(inputs)
        table = functional.log_softmax(answer_table(self.module.last(features), sizes), dim=1)
        gold = gold.to(table.device)
        kind = self.objective.kind
        if kind == "product-of-experts":
            expert = self._of(self.objective.expert, numbers, table)
            # Choices that are not there have −∞ in both; a strength of 0 leaves the table as it is.
            added = (self.objective.strength * expert).masked_fill(~torch.isfinite(expert), 0.0)
            return functional.cross_entropy(table + added, gold, reduction="none")
        if kind == "learned-mixin":
            return self._mixed(table, features, sizes, gold, numbers)
        if kind == "confidence":
            targets = self._of(self.objective.targets, numbers, table)
            return -torch.where(targets > 0, targets * table, torch.zeros_like(table)).sum(dim=1)
        return self._group_robust(functional.cross_entropy(table, gold, reduction="none"), numbers)

    def _of(self, values: Floats | None, numbers: Ints, table: Tensor) -> Tensor:
        """Return the rows of some examples, with as many answers as the batch has."""
        assert values is not None
        rows = values[numbers][:, : table.shape[1]].astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(rows)).to(table.device)

    def _mixed(
        self, table: Tensor, features: Tensor, sizes: Ints | None, gold: Tensor, numbers: Ints
    ) -> Tensor:
        """Clark et al. 2019: the model says how much of the expert is mixed in; a penalty keeps it from saying none."""
        amount = functional.softplus(self.module.mixing(features)).squeeze(1)
        if sizes is not None:
            owner = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)).to(amount.device)
            total = torch.zeros(len(sizes), device=amount.device).index_add(0, owner, amount)
            amount = total / torch.from_numpy(sizes.astype(np.float32)).to(amount.device)
        expert = self._of(self.objective.expert, numbers, table)
        possible = torch.isfinite(expert)
        mixed = torch.where(possible, amount[:, None] * expert.masked_fill(~possible, 0.0), expert)
        share = functional.log_softmax(mixed, dim=1)
        entropy = -torch.where(
            possible, share.exp() * share.masked_fill(~possible, 0.0), share.new_zeros(())
        ).sum(dim=1)
        loss = functional.cross_entropy(table + mixed, gold, reduction="none")
        return loss + self.objective.strength * entropy

    def _group_robust(self, each: Tensor, numbers: Ints) -> Tensor:
        """Sagawa et al. 2020, algorithm 1: groups of higher loss gain weight, exponentially."""
        assert self.objective.groups is not None
        weights = self.module.group_weights
        group = torch.from_numpy(self.objective.groups[numbers]).to(each.device)
        sizes = torch.zeros_like(weights).index_add(0, group, torch.ones_like(each))
        sums = torch.zeros_like(weights).index_add(0, group, each.detach())
        if self.module.training:
            weights.mul_(torch.exp(self.objective.strength * sums / sizes.clamp(min=1)))
            weights.div_(weights.sum())
        # The mean of these is Σ_g q_g · loss_g of the batch.
        return each * weights[group] * len(each) / sizes[group]
