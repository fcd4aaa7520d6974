"""What a torch model says about rows, without learning from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import softmax

from cuecard.errors import UsageError
from cuecard.models.linear.learner import softmax_within
from cuecard.models.neural.batches import Batch, Rows, length_order
from cuecard.stats.arrays import Floats, Ints


def device_for(name: str) -> Any:
    """Return the device of a name; "auto" is a GPU where there is one."""
    if name != "auto":
        try:
            return torch.empty(0, device=name).device
        except (RuntimeError, AssertionError, ValueError):
            raise UsageError(f"The device {name!r} is not available: use device='auto'.") from None
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def on_device(batch: Batch, device: Any) -> Batch:
    """Return the batch with all its tensors on a device."""
    if device.type == "cpu":
        return batch
    return {name: _moved(value, device) for name, value in batch.items()}


def _moved(value: Any, device: Any) -> Any:
    if isinstance(value, list):
        return [_moved(entry, device) for entry in value]
    return value.to(device) if isinstance(value, torch.Tensor) else value


def outputs_of(
    module: Any,
    rows: Rows,
    numbers: Ints,
    *,
    batch_size: int,
    read: Callable[[Batch], Any] | None = None,
) -> npt.NDArray[np.float32]:
    """Return one vector per row of the given numbers: the module's outputs, or what `read` makes of a batch."""
    read = read or module
    device = next(module.parameters()).device
    order = length_order(rows.lengths[numbers])
    outputs: npt.NDArray[np.float32] | None = None
    module.eval()
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            vectors = read(on_device(rows.collate(numbers[chosen]), device)).float().cpu().numpy()
            if outputs is None:
                outputs = np.empty((len(order), vectors.shape[1]), dtype=np.float32)
            outputs[chosen] = vectors
    return np.empty((0, 0), dtype=np.float32) if outputs is None else outputs


def probabilities(outputs: npt.NDArray[np.float32], starts: Ints | None = None) -> Floats:
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
        kept = f"; the run then resumes from the checkpoint in {checkpoint}" if checkpoint else ""
        raise UsageError(f"Out of memory with batches of {batch_size:,} examples: {advice}{kept}.") from error
