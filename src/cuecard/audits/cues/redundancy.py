"""Which cues are the same instances under two names, and what a cue adds to a stronger one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.features import Family
from cuecard.stats import conditional_strength, group_redundant
from cuecard.stats._arrays import divided
from cuecard.stats.cues.given_group import MOST_GIVEN, strength_given_group
from cuecard.stats.cues.redundancy import overlaps
from cuecard.text import Encoded

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


def cue_matrix(sample: Encoded, families: Sequence[Family], cues: pl.DataFrame) -> sparse.csc_matrix:
    """Return which instances of the sample have which of the cues: instances × rows of `cues`."""
    rows, columns = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for family in families:
        wanted = cues.with_row_index("cue").filter(pl.col("family") == family.name)
        if wanted.is_empty():
            continue
        presence = family.presence(sample)
        names = pl.DataFrame({"feature": presence.names}).with_row_index("column")
        present = wanted.join(names, on="feature", how="inner")
        cue_of = np.full(len(presence.names), -1, dtype=np.int64)
        cue_of[present["column"].to_numpy()] = present["cue"].to_numpy()
        cue = cue_of[presence.indices]
        kept = np.flatnonzero(cue >= 0)
        rows.append(np.searchsorted(presence.indptr, kept, side="right") - 1)
        columns.append(cue[kept])
    row, column = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(row), dtype=np.int64)
    return sparse.csc_matrix((ones, (row, column)), shape=(len(sample.instances), cues.height))


def redundancy_table(
    cues: pl.DataFrame,
    matrix: sparse.csc_matrix,
    labels: tuple[str, ...],
    codes: npt.NDArray[np.int32],
    weights: npt.NDArray[np.float64] | None = None,
    units: npt.NDArray[np.int64] | None = None,
) -> pl.DataFrame:
    """Return for every cue its group's leader, and what it still says given a stronger cue it travels with.

    `cues` and the columns of `matrix` are in order of strength; `codes` are the labels of the matrix's rows,
    `weights` what they weigh, if not all the same, and `units` codes that copies of a text share.
    `group` and `given` name cues as family:feature; the columns about `given` are null where a cue travels with
    none. `given_all` names every stronger cue that it travels with, joined by " + ": `z_given` and `log10_p_given` are
    what it adds to all of them.
    """
    names = cues.select(pl.concat_str("family", "feature", separator=":")).to_series()
    groups = group_redundant(matrix, SAME, weights=weights)
    cue, given, contained = _travelling(matrix, weights)
    label = cues["label"].replace_strict({name: i for i, name in enumerate(labels)}, return_dtype=pl.Int64)
    strength = conditional_strength(matrix, codes, cue, given, label.to_numpy()[cue], weights=weights)
    stronger = _companions(matrix, cue, given)
    added = strength_given_group(
        matrix, codes, cue, stronger, label.to_numpy()[cue], weights=weights, units=units
    )
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


def _companions(
    matrix: sparse.csc_matrix, cue: npt.NDArray[np.int64], given: npt.NDArray[np.int64]
) -> list[npt.NDArray[np.int64]]:
    """Return for every cue the stronger ones it travels with: `given` first, then by how many instances they share.

    A cue travels with another if a notable share of its instances has the other, and more than by chance.
    """
    sizes, products = overlaps(matrix, None)
    rows = products.tocsr()
    n = matrix.shape[0]
    companions = []
    for i, first in zip(cue, given, strict=True):
        others = rows.indices[rows.indptr[i] : rows.indptr[i + 1]]
        shared = rows.data[rows.indptr[i] : rows.indptr[i + 1]]
        share, base = shared / sizes[i], sizes[others] / n
        chosen = (others < i) & (others != first) & (share >= TRAVELS) & (share >= TRAVELS_LIFT * base)
        order = np.lexsort((others[chosen], -shared[chosen]))
        companions.append(np.concatenate([[first], others[chosen][order][: MOST_GIVEN - 1]]).astype(np.int64))
    return companions


def _travelling(
    matrix: sparse.csc_matrix, weights: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return each cue that mostly occurs with a stronger one, the likest such one, and its share with it."""
    sizes, products = overlaps(matrix, weights)
    together = sparse.triu(products, k=1).tocoo()  # row: stronger, column: weaker
    share = divided(together.data, sizes[together.col])
    mostly = share >= CONTAINED
    stronger, weaker, share = together.row[mostly], together.col[mostly], share[mostly]
    union = sizes[stronger] + sizes[weaker] - together.data[mostly]
    order = np.lexsort((stronger, -divided(together.data[mostly], union), weaker))
    cue, first = np.unique(weaker[order], return_index=True)
    chosen = order[first]
    return cue.astype(np.int64), stronger[chosen].astype(np.int64), share[chosen]
