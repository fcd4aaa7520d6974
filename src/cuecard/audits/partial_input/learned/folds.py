"""Folds for cross-fitting: no example and no sentence is on both sides, labels are spread evenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.sparse import coo_array

from cuecard.analysis import Skip
from cuecard.data import Instances
from cuecard.data.splits.holdout import sentence_components
from cuecard.data.units import UnitScope
from cuecard.stats.arrays import Ints

Grouping = Literal["sentence", "premise", "example"]

#: A group that holds more of the examples than this leaves too little to learn from.
LARGEST_GROUP = 0.5
_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, eq=False)
class Folds:
    """The fold of every example, and what was kept together to make them."""

    fold: Ints
    grouping: Grouping
    largest_group: float
    note: str = ""

    @property
    def count(self) -> int:
        """How many folds have examples."""
        return len(np.unique(self.fold))


def example_groups(data: Instances, grouping: Grouping) -> Ints:
    """Return a group number per example; what shares a group must never be split.

    Near copies of a text stay together as well, or the nearest of them where all tie most examples into one group, as
    the sentences of a template do.
    """
    if grouping == "example":
        return np.arange(data.n_examples, dtype=np.int64)
    groups = sentence_components(data, ("premise",) if grouping == "premise" else ("premise", "hypothesis"))
    scopes: tuple[UnitScope, ...] = ("premise",) if grouping == "premise" else ("premise", "hypothesis")
    if data.grouped and grouping == "sentence":
        scopes = (*scopes, "choices")
    for closest in (False, True):
        units = [_filled_units(data, scope, closest=closest) for scope in scopes]
        with_copies = connected(groups, data.example_codes, units)
        if _largest_share(with_copies) <= LARGEST_GROUP:
            return with_copies
    return groups


def _filled_units(data: Instances, scope: UnitScope, *, closest: bool) -> Ints:
    """Return the units of a text, with -1 where it is empty and connects nothing."""
    if data.cluster is not None or (scope != "premise" and scope != "hypothesis"):
        return data.units(scope)
    units = data.closest_units(scope) if closest else data.units(scope)
    return np.where(data.blank(scope), -1, units)


def connected(groups: Ints, examples: Ints, units: Sequence[Ints]) -> Ints:
    """Return groups of examples joined where rows of theirs share a unit; units of -1 join nothing."""
    from scipy.sparse.csgraph import connected_components

    size = int(groups.max(initial=-1)) + 1
    ends, start = [], size
    for unit in units:
        used = unit >= 0
        ends.append((groups[examples[used]], start + unit[used]))
        start += int(unit.max(initial=-1)) + 1
    rows, columns = (np.concatenate(side) for side in zip(*ends, strict=True))
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(start, start))
    _, component = connected_components(graph, directed=False)
    _, joined = np.unique(component[:size][groups], return_inverse=True)
    return joined.astype(np.int64)


def make_folds(
    data: Instances, strata: Ints, *, folds: int = 5, grouping: Grouping = "sentence", seed: int = 0
) -> Folds:
    """Return folds in which examples that share a sentence, however indirectly, stay together.

    Where common sentences tie more than half of the examples into one group (answers such as "yes" do), only
    those that share their premise are kept together; where one premise does the same, every example stands alone.
    `note` says so. `strata` (the labels) are spread
    evenly: without that, a label that is rarer than usual among the examples to be guessed is commoner among
    those learned from, which pushes the score of a blind guess below chance.
    """
    groups = example_groups(data, grouping)
    largest = _largest_share(groups)
    note = ""
    if grouping == "sentence" and largest > LARGEST_GROUP:
        what = "question" if data.grouped else "premise"
        note = (
            f"Shared sentences connect {100 * largest:.0f} % of the examples, too many for one fold. Therefore only "
            f"examples with the same {what} stay in one fold."
        )
        grouping = "premise"
        groups = example_groups(data, grouping)
        largest = _largest_share(groups)
        if largest > LARGEST_GROUP:
            note = (
                f"{100 * largest:.0f} % of the examples have the same {what}, too many for one fold. Therefore the "
                "folds are random, and a sentence can occur both in training and in scored examples."
            )
            grouping = "example"
            groups = example_groups(data, grouping)
            largest = _largest_share(groups)
    grouped = Folds(assign(groups, strata, folds=folds, seed=seed), grouping, largest, note)
    if grouped.count < 2:
        raise Skip(
            f"needs at least two groups of training examples with a different {grouping} for cross-validation; all "
            f"{len(groups):,} examples are in one group"
        )
    return grouped


def assign(groups: Ints, strata: Ints, *, folds: int, seed: int = 0) -> Ints:
    """Return a fold per example such that groups stay whole, folds are of similar size, strata are spread.

    Large groups go first, each to the fold with most room. The others are sorted by what strata they hold and
    dealt out in proportion to the room that is left, by a low-discrepancy sequence: any run of similar groups
    is spread over all folds.
    """
    generator = np.random.default_rng(seed)
    n, n_groups = len(groups), int(groups.max(initial=-1)) + 1
    sizes = np.bincount(groups, minlength=n_groups)
    room = np.full(folds, n / folds)
    fold_of_group = np.full(n_groups, -1, dtype=np.int64)
    large = np.flatnonzero(sizes > max(n / (20 * folds), 1))
    for group in large[np.argsort(-sizes[large], kind="stable")]:
        fold_of_group[group] = int(np.argmax(room))
        room[fold_of_group[group]] -= sizes[group]
    small = np.flatnonzero(fold_of_group < 0)
    if len(small):
        # A random number per stratum makes the sum of a group's numbers tell what strata it holds.
        contents = np.bincount(groups, weights=generator.random(int(strata.max()) + 1)[strata])[small]
        order = small[np.lexsort((generator.random(len(small)), contents.round(9), -sizes[small]))]
        share = np.maximum(room, 0)
        bounds = np.cumsum(share / share.sum() if share.sum() else np.full(folds, 1 / folds))[:-1]
        place = (generator.random() + _GOLDEN * np.arange(len(order))) % 1
        fold_of_group[order] = np.searchsorted(bounds, place, side="right")
    return fold_of_group[groups]


def _largest_share(groups: Ints) -> float:
    return float(np.bincount(groups).max() / len(groups)) if len(groups) else 0.0
