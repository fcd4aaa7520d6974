"""Which cues are the same instances under two names, and what a cue adds to a stronger one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.audits.cues.rows import CueRows
from cuecard.stats._arrays import divided
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.cues.given_group import (
    MOST_GIVEN,
    GroupStrength,
    group_cells,
    shares_of_units,
    strength_in_strata,
)
from cuecard.stats.cues.redundancy import (
    ConditionalStrength,
    grouped,
    overlaps,
    pair_cells,
    strength_of_cells,
)

#: Cues whose instances are compared with each other, strongest first.
COMPARED = 1_000
#: Two cues are one group if their instances agree this far (Jaccard index).
SAME = 0.8
#: A cue is read beside a stronger one if at least this share of its instances has that one too.
CONTAINED = 0.5
#: Its other companions are conditioned on if this share of its instances has them, and this often more than others.
TRAVELS = 0.1
TRAVELS_LIFT = 1.2
LN10 = np.log(10.0)

#: How many instances have each cue, and each two of them.
Overlaps = tuple[npt.NDArray[Any], sparse.spmatrix]


def redundancy_table(
    cues: pl.DataFrame,
    rows: CueRows,
    labels: tuple[str, ...],
    codes: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64] | None = None,
    units: npt.NDArray[np.int64] | None = None,
) -> pl.DataFrame:
    """Return for every cue its group's leader, and what it still says given a stronger cue it travels with.

    `cues` and the columns of `rows` are in order of strength; `codes` are the labels of the first rows, which are
    counted, `weights` what they weigh, if not all the same, and `units` codes from 0 that copies of a text share.
    `group` and `given` name cues as family:feature; the columns about `given` are null where a cue travels with
    none. `given_all` names every stronger cue that it travels with, joined by " + ": `z_given` and `log10_p_given` are
    what it adds to all of them.
    """
    names = cues.select(pl.concat_str("family", "feature", separator=":")).to_series()
    (sizes, products), weighed = _overlaps(rows, len(codes), weights)
    groups = grouped(*weighed, SAME)
    cue, given, contained = _travelling(*weighed)
    stronger = _companions(sizes, products.tocsr(), len(codes), cue, given)
    label = cues["label"].replace_strict({name: i for i, name in enumerate(labels)}, return_dtype=pl.Int64)
    strength, added = _strengths(rows, codes, (cue, given, label.to_numpy()[cue]), stronger, weights, units)
    beside = pl.DataFrame(
        {
            "row": cue,
            "given": names.gather(given),
            "given_all": pl.Series([" + ".join(names.gather(each)) for each in stronger], dtype=pl.String),
            "contained": contained,
            "share_with": strength.share_with,
            "base_with": strength.base_with,
            "share_without": strength.share_without,
            "base_without": strength.base_without,
            "z_given": added.z,
            "log10_p_given": added.log_p / LN10,
        }
    ).fill_nan(None)
    return (
        cues.select("family", "feature", "label")
        .with_columns(group=names.gather(groups.leader), jaccard=groups.jaccard)
        .with_columns(row=pl.arange(0, pl.len()))
        .join(beside, on="row", how="left", maintain_order="left")
        .drop("row")
    )


def _overlaps(rows: CueRows, n: int, weights: Floats | None) -> tuple[Overlaps, Overlaps]:
    """Return how many of the first n rows have each cue and each two of them, and how much weight these have."""
    nothing = sparse.csr_matrix((rows.n_cues, rows.n_cues), dtype=np.int64)
    sizes, products = np.zeros(rows.n_cues, dtype=np.int64), nothing
    mass, weighed = np.zeros(rows.n_cues), nothing.astype(np.float64)
    for where, some in rows.slices(n):
        own, together = overlaps(some)
        sizes, products = sizes + own, products + together
        if weights is not None:
            own, together = overlaps(some, weights[where])
            mass, weighed = mass + own, weighed + together
    return (sizes, products), (sizes, products) if weights is None else (mass, weighed)


def _strengths(
    rows: CueRows,
    codes: npt.NDArray[np.int32],
    pairs: tuple[Ints, Ints, Ints],
    stronger: list[Ints],
    weights: Floats | None,
    units: Ints | None,
) -> tuple[ConditionalStrength, GroupStrength]:
    """Return what each cue says about a label given a stronger one, and given all those that it travels with."""
    cue, given, label = pairs
    n = len(codes)
    sizes = None if units is None else np.bincount(units)
    of_pairs: Any = 0
    of_groups: Any = 0
    for where, some in rows.slices(n):
        own = codes[where].astype(np.int64)
        if weights is not None:
            mass = weights[where]
        elif units is None or sizes is None:
            mass = np.ones(len(own))
        else:
            mass = shares_of_units(sizes[units[where]], n)
        of_pairs = of_pairs + pair_cells(some, own, cue, given, label, None if weights is None else mass)
        of_groups = of_groups + group_cells(
            some, own, cue, stronger, label, mass, weighted=weights is not None
        )
    return strength_of_cells(of_pairs), strength_in_strata(of_groups, weighted=weights is not None)


def _companions(sizes: Ints, products: sparse.csr_matrix, n: int, cue: Ints, given: Ints) -> list[Ints]:
    """Return for every cue the stronger ones it travels with: `given` first, then by how many instances they share.

    A cue travels with another if a notable share of its instances has the other, and more than by chance.
    """
    companions = []
    for i, first in zip(cue, given, strict=True):
        others = products.indices[products.indptr[i] : products.indptr[i + 1]]
        shared = products.data[products.indptr[i] : products.indptr[i + 1]]
        share, base = shared / sizes[i], sizes[others] / n
        chosen = (others < i) & (others != first) & (share >= TRAVELS) & (share >= TRAVELS_LIFT * base)
        order = np.lexsort((others[chosen], -shared[chosen]))
        companions.append(np.concatenate([[first], others[chosen][order][: MOST_GIVEN - 1]]).astype(np.int64))
    return companions


def _travelling(sizes: Floats | Ints, products: sparse.spmatrix) -> tuple[Ints, Ints, Floats]:
    """Return each cue that mostly occurs with a stronger one, the likest such one, and its share with it."""
    together = sparse.triu(products, k=1).tocoo()  # row: stronger, column: weaker
    share = divided(together.data, sizes[together.col])
    mostly = share >= CONTAINED
    stronger, weaker, share = together.row[mostly], together.col[mostly], share[mostly]
    union = sizes[stronger] + sizes[weaker] - together.data[mostly]
    order = np.lexsort((stronger, -divided(together.data[mostly], union), weaker))
    cue, first = np.unique(weaker[order], return_index=True)
    chosen = order[first]
    return cue.astype(np.int64), stronger[chosen].astype(np.int64), share[chosen]
