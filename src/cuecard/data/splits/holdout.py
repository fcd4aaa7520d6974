"""A held-out test split that shares no sentence with the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.instances import Instances
from cuecard.data.splits.components import TextSide, join_sentences, number_groups
from cuecard.errors import UsageError

#: A share that misses the wanted one by more than this gets a note.
_TOLERANCE = 0.01


def hold_out(data: Instances, share: float, *, seed: int = 0) -> Instances:
    """Return the instances with about `share` of the training examples moved to a test split.

    Examples that share a sentence, directly or through others, stay together: the graph of examples and their
    sentences falls into components, and whole components are drawn. Sentences are the same up to case and
    punctuation; empty texts connect nothing.
    """
    if not 0 < share < 1:
        raise UsageError(f"--holdout takes a share between 0 and 1, such as 0.2, not {share}.")
    train = data.train
    component = sentence_components(train)
    sizes = np.bincount(component)
    drawn = _draw(sizes, share * train.n_examples, np.random.default_rng(seed))
    moved = drawn[component][train.example_codes]
    reached = float(sizes[drawn].sum() / max(train.n_examples, 1))
    largest = float(sizes.max() / max(train.n_examples, 1))
    if not moved.any() or moved.all():
        raise UsageError(
            f"No held-out split of {share:.0%} can be drawn from {train.n_examples:,} examples: "
            f"{largest:.0%} of them are connected by shared sentences. Give a test file, or leave --holdout out."
        )
    notes = list(data.report.notes)
    if abs(reached - share) > _TOLERANCE:
        notes.append(
            f"The held-out test split has {reached:.1%} of the examples, not {share:.1%}: "
            f"{largest:.1%} of them are connected by shared sentences and cannot be split."
        )
    mask = pl.Series(moved)
    rest = data.table.filter(pl.col("split") != "train")
    test = train.table.filter(mask).with_columns(split=pl.lit("test", dtype=pl.String))
    table = pl.concat([train.table.filter(~mask), rest, test])
    return replace(data, table=table, report=replace(data.report, notes=tuple(notes)))


def sentence_components(
    data: Instances, sides: Sequence[TextSide] = ("premise", "hypothesis")
) -> npt.NDArray[np.int64]:
    """Return a component number for every example; examples connected by shared sentences have the same one.

    `sides` are the texts whose sentences connect.
    """
    groups = np.arange(data.n_examples, dtype=np.int64)
    join_sentences(data, sides, groups)
    number_groups(groups)
    return groups


def _draw(sizes: npt.NDArray[np.int64], wanted: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return which components to take, at random, so that their sizes add up to what is wanted or less."""
    drawn = np.zeros(len(sizes), dtype=np.bool_)
    left = round(wanted)
    order = rng.permutation(len(sizes))
    while True:
        order = order[sizes[order] <= left]
        if len(order) == 0 or left <= 0:
            return drawn
        # All before the first that does not fit; at least one fits, so every round makes progress.
        taken = order[np.cumsum(sizes[order]) <= left]
        drawn[taken] = True
        left -= int(sizes[taken].sum())
        order = order[len(taken) :]
