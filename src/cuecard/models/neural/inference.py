"""What a torch model says about rows, without learning from them, and the gradients of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from scipy.special import softmax
from torch import Tensor

from cuecard.errors import UsageError
from cuecard.models.linear.learner import softmax_within
from cuecard.models.neural.batches import Batch, Rows, length_order
from cuecard.models.neural.modules import Reader
from cuecard.models.neural.word_vectors import HYPOTHESIS, PREMISE
from cuecard.models.saliency import SaliencyMaps, in_table
from cuecard.stats.arrays import Floats, Ints, Singles


def device_for(name: str) -> torch.device:
    """Return the device of a name; "auto" is a GPU where there is one."""
    if name != "auto":
        try:
            return torch.empty(0, device=name).device
        except (RuntimeError, AssertionError, ValueError):
            raise UsageError(f"The device {name!r} is not available: use device='auto'.") from None
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def on_device(batch: Batch, device: torch.device) -> Batch:
    """Return the batch with all its tensors on a device."""
    if device.type == "cpu":
        return batch
    return {
        name: [entry.to(device) for entry in value] if isinstance(value, list) else value.to(device)
        for name, value in batch.items()
    }


def batches_of(
    rows: Rows, numbers: Ints, batch_size: int, device: torch.device
) -> Iterator[tuple[Ints, Batch]]:
    """Yield places in `numbers` and the batch of these rows, rows of about one length together, on a device."""
    order = length_order(rows.lengths[numbers])
    for start in range(0, len(order), batch_size):
        chosen = order[start : start + batch_size]
        yield chosen, on_device(rows.collate(numbers[chosen]), device)


def outputs_of(
    module: Reader,
    rows: Rows,
    numbers: Ints,
    *,
    batch_size: int,
    read: Callable[[Batch], Tensor] | None = None,
) -> Singles:
    """Return one vector per row of the given numbers: the module's outputs, or what `read` makes of a batch."""
    read = read or module
    outputs: Singles | None = None
    module.eval()
    with torch.inference_mode():
        for chosen, batch in batches_of(rows, numbers, batch_size, next(module.parameters()).device):
            vectors = read(batch).float().cpu().numpy()
            if outputs is None:
                outputs = np.empty((len(numbers), vectors.shape[1]), dtype=np.float32)
            outputs[chosen] = vectors
    return np.empty((0, 0), dtype=np.float32) if outputs is None else outputs


def probabilities(outputs: Singles, starts: Ints | None = None) -> Floats:
    """Return the softmax of every row; or given where examples start, of one output per row within each."""
    margins = outputs.astype(np.float64)
    if starts is not None:
        return softmax_within(margins.reshape(-1), starts)
    return np.asarray(softmax(margins, axis=1)) if len(margins) else margins


@contextmanager
def memory_for(batch_size: int, checkpoint: Path | None = None) -> Iterator[None]:
    """Say what to do when memory runs out inside, instead of where it happened."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        message = str(error).lower()
        signs = ("out of memory", "not enough memory", "can't allocate memory")
        if not isinstance(error, MemoryError) and not any(sign in message for sign in signs):
            raise
        advice = (
            f"try batch_size={batch_size // 2}" if batch_size > 1 else "use a smaller model or shorter texts"
        )
        resumes = f"; the run then resumes from the checkpoint in {checkpoint}" if checkpoint else ""
        raise UsageError(
            f"Out of memory with batches of {batch_size:,} examples: {advice}{resumes}."
        ) from error


def gradient_saliency(
    module: Reader, batches: Iterable[tuple[Ints, Batch]], *, grouped: bool
) -> SaliencyMaps:
    """Return for every token the norm of the gradient of the predicted label's probability, rows summing to 1.

    Of data whose rows compete, the gradient of a row's own score: that of a probability within the example is
    the same up to a factor. Marks between and around the texts are no tokens of either.
    """
    numbers, maps = [], []
    for rows, batch in batches:
        numbers.append(rows)
        maps.append(_batch_maps(module, batch, grouped=grouped))
    if not maps:
        nothing, none = np.zeros((0, 0)), np.zeros(0, np.int64)
        return SaliencyMaps(nothing, nothing, none, none)
    order = np.argsort(np.concatenate(numbers))
    premise, premise_lengths = _stacked([part[0] for part in maps])
    hypothesis, hypothesis_lengths = _stacked([part[1] for part in maps])
    return SaliencyMaps.normalised(
        premise[order], hypothesis[order], premise_lengths[order], hypothesis_lengths[order]
    )


def _batch_maps(module: Reader, batch: Batch, *, grouped: bool) -> list[tuple[Floats, Ints]]:
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


def _direction(outputs: Tensor, grouped: bool) -> Tensor:
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
    parts: list[tuple[Floats, Ints]],
) -> tuple[Floats, Ints]:
    """Return the tables of all batches as one, as wide as the widest."""
    width = max(table.shape[1] for table, _ in parts)
    tables = [np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table, _ in parts]
    return np.concatenate(tables), np.concatenate([lengths for _, lengths in parts])
