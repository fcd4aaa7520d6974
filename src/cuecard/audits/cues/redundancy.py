"""What explains a cue: a stronger one with which it co-occurs, or the length of the answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.analysis import Finding
from cuecard.audits.cues.overall import ALL_FEATURES
from cuecard.audits.cues.replication import CueRows
from cuecard.data import Instances, Task
from cuecard.data.parallel import on_threads
from cuecard.features.structure import example_starts
from cuecard.stats import q_values
from cuecard.stats.arrays import Array, Floats, Ints, chunks, divided
from cuecard.stats.cues.association import (
    MOST_GIVEN,
    GroupStrength,
    group_cells,
    shares_of_units,
    strata_of_cells,
    strength_in_strata,
)
from cuecard.stats.cues.redundancy import (
    ConditionalStrength,
    grouped,
    overlaps,
    pair_cells,
    strength_of_cells,
)
from cuecard.stats.given_properties import Choices, score_tests
from cuecard.wording import of_responses, plural

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
#: Cues that a thread tests at a time.
TESTED = 1 << 7
#: Rows whose cues are counted at a time.
OVERLAPPED = 1 << 16

#: How many instances have each cue, and each two of them.
Overlaps = tuple[Array, sparse.spmatrix]


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
    listed = names.to_list()
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
            "given_all": pl.Series(
                [" + ".join(listed[i] for i in each) for each in stronger], dtype=pl.String
            ),
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
        # So many rows at a time lie in the processor's cache.
        parts = [some[chunk] for chunk in chunks(some.shape[0], OVERLAPPED)]
        for own, together in on_threads(lambda i, parts=parts: overlaps(parts[i]), len(parts)):  # type: ignore[misc]
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
        weighted = weights is not None
        pairs_and_groups: tuple[Callable[[], Array], ...] = (
            partial(pair_cells, some, own, cue, given, label, mass if weighted else None),
            partial(group_cells, some, own, cue, stronger, label, mass, weighted=weighted),
        )
        cells = on_threads(lambda i, find=pairs_and_groups: find[i](), 2)  # type: ignore[misc]
        of_pairs, of_groups = of_pairs + cells[0], of_groups + cells[1]
    k, n_with, labelled, whole = strata_of_cells(of_groups, weighted=weights is not None)
    tested = list(chunks(len(cue), TESTED))

    def strength_of(part: int) -> GroupStrength:
        some = tested[part]
        return strength_in_strata((k[some], n_with[some], labelled[some], whole[some]))

    added = on_threads(strength_of, len(tested))
    z, log_p = (
        np.concatenate([np.empty(0), *values])
        for values in ([part.z for part in added], [part.log_p for part in added])
    )
    return strength_of_cells(of_pairs), GroupStrength(z, log_p)


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


#: The family that is length itself.
LENGTH = "length"
#: Examples that are looked at at a time.
AT_A_TIME = 16_384


def given_length(
    cues: pl.DataFrame,
    train: Instances,
    having: Callable[[pl.DataFrame], CueRows],
    lengths: npt.NDArray[np.int64],
    *,
    alpha: float,
) -> pl.DataFrame:
    """Return the cues with z and q-value given length, and whether length explains them.

    Where length itself is significant, a cue goes with length (`by_length`) if it is not significant given length.
    Length is whether a choice is the longest or the shortest, and its log length, plain and squared with its sign. Only
    significant cues are tested, and the others counted with a p-value of 1, so that q-values are of all features as
    before; the columns are null for other features and for length itself. `having` returns which instances have some of
    the cues, training rows first; `lengths` are the numbers of tokens of these rows.
    """
    tested = cues.with_row_index("row").filter(pl.col("significant") & (pl.col("family") != LENGTH))
    starts = np.append(example_starts(train), len(train))
    edges = np.append(np.arange(0, len(starts) - 1, AT_A_TIME), len(starts) - 1)
    units = train.units("choices")

    def blocks() -> Iterator[Choices]:
        for first, last in pairwise(edges.tolist()):
            rows, own = slice(starts[first], starts[last]), starts[first:last] - starts[first]
            right = (train.label_codes[rows] == 0).astype(np.float64)
            yield Choices(right, own, length_properties(lengths[rows], own), units[rows])

    # Blocks have bounds of their own, so that sums do not depend on how a dataset on disk is divided.
    present = having(tested).blocks(starts[edges])
    tests = score_tests(blocks, present, tested.height, np.bincount(units))
    # The second label is the first one turned round.
    sign = np.where((tested["label"] == train.labels[0]).to_numpy(), 1.0, -1.0)
    log_p = np.concatenate([tests.log_p, np.zeros(cues.height - tested.height)])
    z, q = sign * tests.z, q_values(log_p)[: tested.height]
    matters = cues.filter((pl.col("family") == LENGTH) & pl.col("significant")).height > 0
    explained = ~(q <= alpha) & matters
    about = pl.DataFrame(
        {
            "row": tested["row"],
            "z_given_length": pl.Series(z, dtype=pl.Float64).fill_nan(None),
            "q_given_length": pl.Series(q, dtype=pl.Float64).fill_nan(None),
            "by_length": explained,
        }
    )
    return (
        cues.with_row_index("row")
        .join(about, on="row", how="left", maintain_order="left")
        .with_columns(pl.col("by_length").fill_null(False))
        .drop("row")
    )


def length_properties(
    lengths: npt.NDArray[np.int64], starts: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Return for every choice: among the longest, among the shortest, and its log length within its example."""
    sizes = np.diff(np.append(starts, len(lengths)))
    code = np.repeat(np.arange(len(starts)), sizes)
    longest = lengths == np.maximum.reduceat(lengths, starts)[code]
    shortest = lengths == np.minimum.reduceat(lengths, starts)[code]
    logs = np.log1p(lengths.astype(np.float64))
    size = logs - (np.add.reduceat(logs, starts) / sizes)[code]
    return np.column_stack([longest, shortest, size, size * np.abs(size)]).astype(np.float64)


def with_length(findings: Sequence[Finding], explained: int, task: Task) -> list[Finding]:
    """Return the findings with how many cues length explains: told over all features, and as parts of length."""
    if not explained:
        return list(findings)
    one = explained == 1
    told = [
        replace(
            finding,
            text=f"{finding.text} {plural(explained, 'more feature goes', 'more features go')} with length: given the "
            f"length of the {of_responses('answers', task)}, {'it is' if one else 'they are'} not significant.",
        )
        if finding.key == ALL_FEATURES
        else finding
        for finding in findings
    ]
    place = next((i for i, one in enumerate(told) if one.cue.startswith(f"{LENGTH}:")), None)
    if place is not None:
        part = f"{plural(explained, 'feature')} that go with length"
        told[place] = replace(told[place], parts=(*told[place].parts, part))
    return told
