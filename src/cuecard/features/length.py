"""Length: quantile bins of the number of tokens, and the longest and shortest of an example's choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cuecard.data import Instances
from cuecard.features.family import FAMILIES, Presence
from cuecard.text import Encoded


@FAMILIES.register("length")
@dataclass(frozen=True)
class Lengths:
    """Bins that each hold about the same share of the train instances, named by their range of tokens."""

    name: ClassVar[str] = "length"
    description: ClassVar[str] = "how many tokens, and the longest or shortest choice"
    languages: ClassVar[frozenset[str] | None] = None

    bins: int = 5

    def presence(self, data: Encoded) -> Presence:
        """Return the bin of every instance and, for grouped tasks, whether it is the longest or shortest."""
        lengths = data.scoped.lengths
        in_train = (data.instances.table["split"] == "train").to_numpy()
        columns = quantile_bins(lengths, lengths[in_train] if in_train.any() else lengths, self.bins)
        if data.instances.grouped:
            columns |= extremes(lengths, data.instances)
        return Presence.from_columns(columns, len(lengths))


def quantile_bins(
    lengths: npt.NDArray[np.int64], reference: npt.NDArray[np.int64], bins: int
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return one column per bin; ties make bins merge rather than split a length."""
    inner = np.quantile(reference, np.linspace(0, 1, bins + 1)[1:-1], method="lower")
    edges = np.unique(inner)
    code = np.searchsorted(edges, lengths, side="left")
    columns = {}
    for b in range(len(edges) + 1):
        low = int(edges[b - 1]) + 1 if b else 0
        if b == len(edges):
            columns[f"{low} or more tokens"] = code == b
        else:
            high = int(edges[b])
            columns[f"{low} tokens" if low == high else f"{low} to {high} tokens"] = code == b
    return columns


def extremes(lengths: npt.NDArray[np.int64], instances: Instances) -> dict[str, npt.NDArray[np.bool_]]:
    """Return whether an instance alone is the longest, or the shortest, of its example."""
    starts = example_starts(instances)
    codes = instances.example_codes
    columns = {}
    for name, reduce in (("longest", np.maximum.reduceat), ("shortest", np.minimum.reduceat)):
        extreme = lengths == reduce(lengths, starts)[codes]
        alone = np.add.reduceat(extreme.astype(np.int64), starts)[codes] == 1
        columns[name] = extreme & alone
    return columns


def example_starts(instances: Instances) -> npt.NDArray[np.int64]:
    """Return the first row of every example."""
    codes = instances.example_codes
    return np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64)
