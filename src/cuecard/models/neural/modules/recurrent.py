"""Recurrent layers over padded rows, whose padding changes nothing."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn


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
