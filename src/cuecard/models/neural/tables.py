"""Outputs of a module as a table of examples × answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from cuecard.stats.arrays import Ints


def answer_table(outputs: Any, sizes: Ints | None) -> Any:
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
