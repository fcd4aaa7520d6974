"""Gradients of a torch model's prediction with respect to its token vectors, many rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cuecard.data import Instances
from cuecard.models.neural.words.word_rows import HYPOTHESIS, PREMISE
from cuecard.models.saliency.maps import SaliencyMaps, in_table
from cuecard.stats.arrays import Floats


def gradient_saliency(model: Any, data: Instances) -> SaliencyMaps:
    """Return for every token the norm of the gradient of the predicted label's probability, rows summing to 1.

    Of data whose rows compete, the gradient of a row's own score: that of a probability within the example is
    the same up to a factor. Marks between and around the texts are no tokens of either.
    """
    numbers, maps = [], []
    for rows, batch in model.batches(data):
        numbers.append(rows)
        maps.append(_batch_maps(model.module_, batch, grouped=data.grouped))
    if not maps:
        nothing, none = np.zeros((0, 0)), np.zeros(0, np.int64)
        return SaliencyMaps(nothing, nothing, none, none)
    order = np.argsort(np.concatenate(numbers))
    premise, premise_lengths = _stacked([part[0] for part in maps])
    hypothesis, hypothesis_lengths = _stacked([part[1] for part in maps])
    return SaliencyMaps.normalised(
        premise[order], hypothesis[order], premise_lengths[order], hypothesis_lengths[order]
    )


def _batch_maps(module: Any, batch: Any, *, grouped: bool) -> list[tuple[Floats, npt.NDArray[np.int64]]]:
    """Return tables of norms and the numbers of tokens, of premise and hypothesis."""
    norms, segments = [], []
    # Recurrent layers of cuDNN have no gradient outside of training.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = [vectors.detach().requires_grad_() for vectors in module.embedded(batch)]
        outputs = module.forward_from(embedded, batch)
        gradients = torch.autograd.grad(outputs, embedded, _direction(outputs, grouped), allow_unused=True)
    for gradient, vectors, segment in zip(gradients, embedded, batch["segments"], strict=True):
        if gradient is None:  # a text that is only a mark may not be read at all
            gradient = torch.zeros_like(vectors)
        # In double precision: the squares of small gradients would vanish.
        norms.append(gradient.double().norm(dim=2).cpu().numpy())
        segments.append(segment.cpu().numpy())
    joint, place = np.concatenate(norms, axis=1), np.concatenate(segments, axis=1)
    return [in_table(joint, place == side) for side in (PREMISE, HYPOTHESIS)]


def _direction(outputs: Any, grouped: bool) -> Any:
    """Return how the predicted label's probability changes with the outputs, up to a factor per row.

    d p_c / d z_j is p_c (1 − p_c) for the label c itself and − p_c p_j for others: after division by p_c (1 − p_c)
    that is 1, and minus the softmax over the other labels. A map is normalised over its row, so the factor may be
    left out, and has to be: of a model that is very sure it is too small for a float.
    """
    if grouped:
        return torch.ones_like(outputs)
    margins = outputs.detach().double()
    predicted = margins.argmax(dim=1, keepdim=True)
    others = margins.scatter(1, predicted, -torch.inf).softmax(dim=1)
    return (-others).scatter(1, predicted, 1.0).to(outputs.dtype)


def _stacked(
    parts: list[tuple[Floats, npt.NDArray[np.int64]]],
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the tables of all batches as one, as wide as the widest."""
    width = max(table.shape[1] for table, _ in parts)
    tables = [np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table, _ in parts]
    return np.concatenate(tables), np.concatenate([lengths for _, lengths in parts])
