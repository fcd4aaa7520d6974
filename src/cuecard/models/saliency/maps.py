"""Saliency maps: how much each token of an input matters to what a model predicts (PECO, equation 9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.stats.arrays import Floats, Ints

#: Tokens of every row's premise and hypothesis; none of a text that the model may not read.
TokenTexts = tuple[list[list[str]], list[list[str]]]


@dataclass(frozen=True, eq=False)
class SaliencyMaps:
    """The relevance of the tokens of every row, which sums to 1 over both texts of a row.

    Each text has a table, rows × places, with zeros after the end of short texts; a text that the model may not
    read has no places.
    """

    premise: Floats
    hypothesis: Floats
    premise_lengths: Ints
    hypothesis_lengths: Ints

    @classmethod
    def normalised(
        cls, premise: Floats, hypothesis: Floats, premise_lengths: Ints, hypothesis_lengths: Ints
    ) -> SaliencyMaps:
        """Return maps of norms that do not sum to 1 yet; a row of zeros stays one."""
        total = premise.sum(axis=1) + hypothesis.sum(axis=1)
        scale = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)[:, None]
        return cls(premise * scale, hypothesis * scale, premise_lengths, hypothesis_lengths)

    def __len__(self) -> int:
        return len(self.hypothesis)


def saliency(model: Any, data: Instances) -> SaliencyMaps:
    """Return the maps of a fitted model, or raise if its kind cannot be differentiated."""
    if not hasattr(model, "saliency"):
        raise UsageError(f"The model {model.name!r} gives no saliency maps: it has no method `saliency`.")
    maps: SaliencyMaps = model.saliency(data)
    return maps


def token_texts(model: Any, data: Instances) -> TokenTexts:
    """Return the tokens of every row that a model's maps are about, of premise and hypothesis."""
    texts: TokenTexts = model.token_texts(data)
    return texts


def check_same_tokens(first: TokenTexts, second: TokenTexts) -> None:
    """Raise if two models' maps have different tokens; one may read less of the end of a text, or nothing."""
    for ones, others in zip(first, second, strict=True):
        for number, (one, other) in enumerate(zip(ones, others, strict=True), start=1):
            both = min(len(one), len(other))
            if one[:both] != other[:both]:
                mine, theirs = next((a, b) for a, b in zip(one, other, strict=False) if a != b)
                raise UsageError(
                    f"The maps have different tokens (in row {number:,} {mine!r} and {theirs!r}): "
                    "train both models with the same parameters and tokeniser."
                )


def aligned(first: SaliencyMaps, second: SaliencyMaps) -> tuple[Floats, Floats]:
    """Return two models' maps as tables of one shape: premise places, then hypothesis places.

    A text that one of the two may not read, or of which it reads less, is zeros there.
    """
    if len(first) != len(second):
        raise UsageError(
            f"The maps have {len(first):,} and {len(second):,} rows: give maps of the same data."
        )
    widths = [
        max(one.shape[1], other.shape[1])
        for one, other in ((first.premise, second.premise), (first.hypothesis, second.hypothesis))
    ]
    return _widened(first, *widths), _widened(second, *widths)


def _widened(maps: SaliencyMaps, premise: int, hypothesis: int) -> Floats:
    table = np.zeros((len(maps), premise + hypothesis))
    table[:, : maps.premise.shape[1]] = maps.premise
    table[:, premise : premise + maps.hypothesis.shape[1]] = maps.hypothesis
    return table


def in_table(values: npt.NDArray[Any], inside: npt.NDArray[np.bool_]) -> tuple[Floats, Ints]:
    """Return the values at some places of every row, moved to the row's beginning, and how many there are."""
    lengths = inside.sum(axis=1).astype(np.int64)
    table = np.zeros((len(inside), int(lengths.max(initial=0))))
    table[np.arange(table.shape[1]) < lengths[:, None]] = values[inside]
    return table, lengths
