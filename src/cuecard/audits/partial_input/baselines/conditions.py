"""What a baseline may look at: the features of every partial, content-blind or full input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.audits.partial_input.metadata import metadata_features, response_columns
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.data.units import UnitScope
from cuecard.models.linear.features_on_request import Features, Indicators, InputMatrix
from cuecard.models.linear.input_features import (
    Binned,
    Block,
    FeatureBlocks,
    InputRows,
    State,
    WithinExample,
    feature_blocks,
    side_by_side,
)
from cuecard.stats.arrays import Bools
from cuecard.text import encode

#: "relation": a figure about both texts that reads neither. It may predict for good reasons, where what is
#: told in one text is asked of the other, so it is scored, and not called a leak.
InputKind = Literal["content-blind", "relation", "partial", "full"]


@dataclass(frozen=True, eq=False)
class InputFeatures:
    """A named input and its features, one row per instance."""

    name: str
    kind: InputKind
    matrix: Features
    #: What examples must share to be one observation about this input.
    unit: UnitScope


def rows_of(data: Instances, *, tokens: str | None = None) -> InputRows:
    """Return what the inputs of a dataset are made of."""
    return InputRows(encode(data, tokens=tokens), data.first_rows, stable=False)


def conditions(
    rows: InputRows, examples: Examples, *, ngrams: int = 2, extra: Sequence[pl.Series] = ()
) -> list[InputFeatures]:
    """Return the inputs that apply to the task, content-blind ones first, the full input last.

    Bins and document frequencies come from train rows; labels are never looked at. `extra` are columns beside the
    texts, one value per example, which are an input of their own.
    """
    data = examples.instances
    train = data.in_splits("train")
    if not train.any():
        train = np.ones(len(data), dtype=np.bool_)
    build = _Features(rows, train)
    task = data.task
    full = InputFeatures("full", "full", build.all_of(feature_blocks(task, "full", ngrams=ngrams)), "example")
    if not data.grouped:
        length = InputFeatures(
            "length", "content-blind", build.only(Binned("hypothesis length")), "hypothesis"
        )
        blind = [length]
        if extra:
            blind.append(InputFeatures("metadata", "content-blind", metadata_features(extra), "example"))
        if task == "text":
            return [*blind, full]
        hypothesis, premise = (
            build.all_of(feature_blocks(task, which, ngrams=ngrams)) for which in ("hypothesis", "premise")
        )
        return [
            *blind,
            InputFeatures("overlap", "relation", build.only(Binned("overlap")), "example"),
            InputFeatures("hypothesis_only", "partial", hypothesis, "hypothesis"),
            InputFeatures("premise_only", "partial", premise, "premise"),
            full,
        ]
    lengths = build.only(Binned("relative length"), WithinExample("length"))
    overlap = build.only(Binned("share"), WithinExample("overlap"))
    choices = build.all_of(feature_blocks(task, "choices", ngrams=ngrams))
    inputs = [
        InputFeatures("length", "content-blind", lengths, "choices"),
        InputFeatures("overlap", "relation", overlap, "example"),
        InputFeatures("choices_only", "partial", choices, "choices"),
        full,
    ]
    if task == "choice":
        place = data.table["position"].to_numpy()
        by_place = Indicators((place,), (int(place.max(initial=0)) + 1,))
        inputs.insert(0, InputFeatures("position", "content-blind", by_place, "choices"))
    beside = response_columns(examples)
    if beside:
        inputs.insert(0, InputFeatures("metadata", "content-blind", metadata_features(beside), "choices"))
    return inputs


@dataclass(frozen=True, eq=False)
class _Features:
    """Blocks of features, learned and made once where several inputs have them."""

    rows: InputRows
    train: Bools
    learned: dict[Block, State] = field(default_factory=dict)
    made: dict[Block, sparse.csr_matrix] = field(default_factory=dict)

    def only(self, *blocks: Block) -> Features:
        return self._matrix([(block, 1.0) for block in blocks])

    def all_of(self, wanted: FeatureBlocks) -> Features:
        return self._matrix(list(wanted.values()))

    def _matrix(self, wanted: Sequence[tuple[Block, float]]) -> Features:
        if self.rows.many:
            return InputMatrix.of(self.rows, [(b, share, self._state(b)) for b, share in wanted])
        return side_by_side(*(share * self._block(block) for block, share in wanted))

    def _state(self, block: Block) -> State:
        if block not in self.learned:
            self.learned[block] = block.learn(self.rows, self.train)
        return self.learned[block]

    def _block(self, block: Block) -> sparse.csr_matrix:
        if block not in self.made:
            self.made[block] = block.make(self.rows, self._state(block))
        return self.made[block]
