"""What a baseline may look at: the features of every partial, content-blind or full input."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data.examples import Bools, Examples
from cuecard.models.input_features import Binned, Block, InputRows, Recipe, WithinExample, joined, recipe
from cuecard.text import Encoded

#: "relation": a figure about both texts that reads neither. It may predict for good reasons, where what is
#: told in one text is asked of the other, so it is scored, and not called a leak.
Kind = Literal["content-blind", "relation", "partial", "full"]


@dataclass(frozen=True, eq=False)
class Condition:
    """A named input and its features, one row per instance."""

    name: str
    kind: Kind
    matrix: sparse.csr_matrix


def conditions(encoded: Encoded, examples: Examples, *, ngrams: int = 2) -> list[Condition]:
    """Return the inputs that apply to the task, content-blind ones first, the full input last.

    Bins and document frequencies come from train rows; labels are never looked at.
    """
    data = encoded.instances
    train = (data.table["split"].cast(pl.String) == "train").to_numpy()
    if not train.any():
        train = np.ones(len(data), dtype=np.bool_)
    build = _Features(InputRows(encoded, examples.first_rows, stable=False), train)
    full = Condition("full", "full", build.all_of(recipe(data.task, "full", ngrams=ngrams)))
    if data.task == "text":
        return [Condition("length", "content-blind", build.block(Binned("hypothesis length"))), full]
    if not data.grouped:
        return [
            Condition("length", "content-blind", build.block(Binned("hypothesis length"))),
            Condition("overlap", "relation", build.block(Binned("overlap"))),
            Condition(
                "hypothesis_only", "partial", build.all_of(recipe(data.task, "hypothesis", ngrams=ngrams))
            ),
            Condition("premise_only", "partial", build.all_of(recipe(data.task, "premise", ngrams=ngrams))),
            full,
        ]
    length = joined(build.block(Binned("relative length")), build.block(WithinExample("length")))
    overlap = joined(build.block(Binned("share")), build.block(WithinExample("overlap")))
    found = [
        Condition("length", "content-blind", length),
        Condition("overlap", "relation", overlap),
        Condition("choices_only", "partial", build.all_of(recipe(data.task, "choices", ngrams=ngrams))),
        full,
    ]
    if data.task == "choice":
        place = data.table["position"].to_numpy().astype(np.int64)
        found.insert(0, Condition("position", "content-blind", _indicator(place)))
    return found


@dataclass(frozen=True, eq=False)
class _Features:
    """Blocks of features, made once where several inputs have them."""

    rows: InputRows
    train: Bools
    made: dict[Block, sparse.csr_matrix] = field(default_factory=dict)

    def block(self, block: Block) -> sparse.csr_matrix:
        if block not in self.made:
            self.made[block] = block.make(self.rows, block.learn(self.rows, self.train))
        return self.made[block]

    def all_of(self, wanted: Recipe) -> sparse.csr_matrix:
        return joined(*(share * self.block(block) for block, share in wanted.values()))


def _indicator(codes: npt.NDArray[np.int64]) -> sparse.csr_matrix:
    n = len(codes)
    shape = (n, int(codes.max(initial=0)) + 1)
    return sparse.csr_matrix((np.ones(n), codes.astype(np.int32), np.arange(n + 1)), shape=shape)
