"""Cues that are the same instances under two names, and what a cue adds to a stronger one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.stats import _native
from cuecard.stats.arrays import Array, Floats, Ints, chunks, divided
from cuecard.stats.cues.within_example import stratified_hypergeometric_log_p

#: Bits of tables that say which rows have which stronger cue, held at a time.
MASKED = 1 << 30


@dataclass(frozen=True, eq=False)
class CueGroups:
    """For each cue the index of the strongest cue of its group (itself if it leads), and its likeness."""

    leader: Ints
    jaccard: Floats


@dataclass(frozen=True, eq=False)
class ConditionalStrength:
    """How a cue goes with a label where a stronger cue is absent and where it is present, per pair asked for.

    `n` and `k` count instances with the cue, and those of them with the label, in each stratum; `share` is
    k / n and `base` the label's share in the whole stratum. `z` is Cochran, Mantel and Haenszel's over
    both strata, `odds_ratio` their common odds ratio, `log_p` the natural log of the exact two-sided p-value.
    """

    n_without: Array
    k_without: Array
    share_without: Floats
    base_without: Floats
    n_with: Array
    k_with: Array
    share_with: Floats
    base_with: Floats
    odds_ratio: Floats
    z: Floats
    log_p: Floats


def group_redundant(
    presence: sparse.spmatrix, threshold: float = 0.8, *, weights: npt.ArrayLike | None = None
) -> CueGroups:
    """Cue groups that occur in (nearly) the same instances, led by the strongest.

    `presence` is a sparse 0/1 matrix, instances × cues, its columns in order of strength. The strongest cue
    left leads and takes every cue left whose Jaccard index |A ∩ B| / |A ∪ B| with it reaches `threshold`;
    repeat. Membership is by likeness to the leader, so a chain of half-alike cues does not become one
    group. With `weights`, one per instance, sets are as large as the weight of their instances.

    >>> presence = sparse.csc_matrix([[1, 1, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> groups = group_redundant(presence, threshold=0.7)
    >>> groups.leader, groups.jaccard
    (array([0, 0, 2]), array([1.  , 0.75, 1.  ]))
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold must be above 0 and at most 1, and is {threshold}")
    return grouped(*overlaps(_zero_one(presence), weights), threshold)


def grouped(counts: Array, together: sparse.spmatrix, threshold: float) -> CueGroups:
    """Return the groups of cues, from how many instances have each and each two of them (see `overlaps`)."""
    together, size = together.tocsr(), len(counts)
    rows = np.repeat(np.arange(size), np.diff(together.indptr))
    jaccard = divided(together.data, counts[rows] + counts[together.indices] - together.data)
    alike = jaccard >= threshold
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[alike], minlength=size))])
    partners, likeness = together.indices[alike], jaccard[alike]

    leader, with_leader = np.full(size, -1, dtype=np.int64), np.ones(size)
    for cue in range(size):
        if leader[cue] >= 0:
            continue
        leader[cue] = cue
        near = slice(starts[cue], starts[cue + 1])
        free = leader[partners[near]] < 0
        leader[partners[near][free]] = cue
        with_leader[partners[near][free]] = likeness[near][free]
    return CueGroups(leader, with_leader)


def conditional_strength(
    presence: sparse.spmatrix,
    labels: npt.ArrayLike,
    cue: npt.ArrayLike,
    given: npt.ArrayLike,
    label: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> ConditionalStrength:
    """Strength of what each cue still says about a label once a stronger cue is known.

    `presence` is instances × cues (sparse 0/1), `labels` the label code of every instance; `cue`, `given`
    and `label` are parallel: pair i asks for column cue[i] and label label[i] given column given[i]. Within
    each stratum s (given absent, given present) of N instances, M with the label, n with the cue, the count
    k has mean and variance

        E = nM/N,   V = n(N−n)M(N−M) / (N²(N−1));     z = Σ(k − E) / sqrt(ΣV)  over s

    so z near 0 says that the cue adds nothing to the stronger one; nan where neither stratum can tell.
    Instances are taken as independent.

    With `weights`, one per instance, `n`, `k`, shares and bases are of weight. z, odds ratio and p-value take effective
    counts: each stratum is scaled so that its instances with the cue count as (Σw)² / Σw², its four cells rounded.

    A cue that occurs only together with the stronger one, in half of its instances, whatever the label:

    >>> presence = sparse.csc_matrix([[1, 1], [1, 0], [1, 1], [1, 0], [0, 0], [0, 0]])
    >>> result = conditional_strength(presence, [1, 1, 0, 0, 0, 0], cue=[1], given=[0], label=[1])
    >>> result.k_with, result.n_with, result.z
    (array([1]), array([2]), array([0.]))
    """
    cues = _zero_one(presence)
    codes, columns, stronger, wanted = (
        np.asarray(part, dtype=np.int64) for part in (labels, cue, given, label)
    )
    if codes.shape != (cues.shape[0],):
        raise ValueError(f"labels must hold one code for each of the {cues.shape[0]} instances")
    if columns.ndim != 1 or columns.shape != stronger.shape or columns.shape != wanted.shape:
        raise ValueError("cue, given and label must be flat arrays of the same length")
    if min(part.min(initial=0) for part in (codes, columns, stronger, wanted)) < 0:
        raise ValueError("labels, cue, given and label must hold indices that are not negative")
    if max(columns.max(initial=-1), stronger.max(initial=-1)) >= cues.shape[1]:
        raise ValueError(f"cue and given must name columns of presence, which has {cues.shape[1]}")
    mass = None if weights is None else np.asarray(weights, dtype=np.float64)
    return strength_of_cells(pair_cells(cues, codes, columns, stronger, wanted, mass))


def pair_cells(
    rows: sparse.spmatrix, codes: Ints, cue: Ints, given: Ints, label: Ints, mass: Floats | None = None
) -> Array:
    """Return the sums over some instances that `strength_of_cells` takes: those of other instances are added to them.

    One column for every pair; the arguments are those of `conditional_strength`.
    """
    stronger, place = np.unique(given, return_inverse=True)
    n_labels = int(max(codes.max(initial=0), label.max(initial=0))) + 1
    masses = [np.ones(len(codes)) if mass is None else mass, *([] if mass is None else [np.square(mass)])]
    cells = np.zeros((8 if mass is None else 12, len(cue)))
    # A set of companions is a stronger cue here, beside the empty set.
    sets = np.arange(-1, len(stronger)), np.minimum(np.arange(len(stronger) + 1), 1)
    by_row = sparse.csr_matrix(rows)
    for chunk in chunks(len(codes), max(1, MASKED // max(1, len(stronger)))):
        columns = by_row[chunk].tocsc()
        indptr, indices = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        parts = [
            _native.strata_sums(
                indptr, indices, stronger, *sets, cue, place.reshape(-1, 1), codes[chunk], label, each[chunk], n_labels
            )
            for each in masses
        ]  # fmt: skip
        sums, labelled, whole = parts[0]
        of_given, of_all = sums[1 + place], sums[:1]
        cells[:8] += (
            labelled[:, 1], whole[:, 1], of_given[np.arange(len(cue)), label], of_given.sum(axis=1),
            labelled.sum(axis=1), whole.sum(axis=1), of_all[0, label], np.broadcast_to(of_all.sum(), len(cue)),
        )  # fmt: skip
        for squares, _, with_cue in parts[1:]:
            cells[8:] += (
                with_cue[:, 1], with_cue.sum(axis=1), squares[1 + place].sum(axis=1),
                np.broadcast_to(squares[0].sum(), len(cue)),
            )  # fmt: skip
    return cells if mass is not None else cells.astype(np.int64)


def strength_of_cells(cells: Array) -> ConditionalStrength:
    """Return what `conditional_strength` does, from the sums of `pair_cells` over all instances."""
    k_with, n_with, labelled_with, size_with, k_all, n_all, labelled_all, whole_all = cells[:8]
    k_without, n_without = remainder(k_all, k_with), remainder(n_all, n_with)
    labelled_without, size_without = remainder(labelled_all, labelled_with), remainder(whole_all, size_with)
    k, n = np.column_stack([k_without, k_with]), np.column_stack([n_without, n_with])
    labelled = np.column_stack([labelled_without, labelled_with])
    whole = np.column_stack([size_without, size_with])
    if len(cells) > 8:
        squares_with, of_cue, of_given, of_all = cells[8:]
        squares = np.column_stack([remainder(of_cue, squares_with), squares_with])
        all_squares = np.column_stack([remainder(of_all, of_given), of_given])
        k, n, labelled, whole = effective_cells(
            k, n, labelled, whole, squares, remainder(all_squares, squares)
        )
    log_p = stratified_hypergeometric_log_p(k.sum(axis=1), n, labelled, whole)
    z, odds_ratio = mantel_haenszel(*(part.astype(np.float64) for part in (k, n, labelled, whole)))
    return ConditionalStrength(
        n_without=n_without,
        k_without=k_without,
        share_without=divided(k_without, n_without),
        base_without=divided(labelled_without, size_without),
        n_with=n_with,
        k_with=k_with,
        share_with=divided(k_with, n_with),
        base_with=divided(labelled_with, size_with),
        odds_ratio=odds_ratio,
        z=z,
        log_p=log_p,
    )


def overlaps(cues: sparse.spmatrix, weights: npt.ArrayLike | None = None) -> tuple[Array, sparse.spmatrix]:
    """Return how many instances have each column and each two of them, or how much weight those have.

    Without weights, those of other instances may be added to them.
    """
    if weights is None:
        return np.asarray(cues.sum(axis=0)).ravel(), cues.T @ cues
    mass = np.asarray(weights, dtype=np.float64)
    return np.asarray(cues.T @ mass), cues.T @ cues.multiply(mass[:, None]).tocsr()


def remainder(whole: Array, part: Array) -> Array:
    """Return the difference, 0 where it is no more than the rounding error of sums of weights."""
    rest = whole - part
    return rest if rest.dtype.kind == "i" else np.where(rest > 1e-9 * whole, rest, 0.0)


def effective_cells(
    k: Array, n: Array, labelled: Array, whole: Array, squares: Array, rest_squares: Array
) -> tuple[Ints, Ints, Ints, Ints]:
    """Return weighted counts by stratum in whole instances: those with the cue and the rest, each by its own worth."""
    with_cue = np.where(squares > 0, n / np.where(squares > 0, squares, 1.0), 0.0)
    without = np.where(rest_squares > 0, (whole - n) / np.where(rest_squares > 0, rest_squares, 1.0), 0.0)
    cells = (
        (k, with_cue), (n - k, with_cue), (labelled - k, without), (whole - labelled - n + k, without),
    )  # fmt: skip
    both, cue, label, neither = (
        np.rint(np.maximum(part * worth, 0)).astype(np.int64) for part, worth in cells
    )
    return both, both + cue, both + label, both + cue + label + neither


def mantel_haenszel(k: Floats, n: Floats, labelled: Floats, whole: Floats) -> tuple[Floats, Floats]:
    """Return z and the common odds ratio of each row over its strata (columns)."""
    size = np.maximum(whole, 1.0)
    gap = (k - n * labelled / size).sum(axis=1)
    variance = n * (whole - n) * labelled * (whole - labelled) / (size**2 * np.maximum(whole - 1, 1.0))
    for_label = (k * (whole - n - labelled + k) / size).sum(axis=1)
    against = ((n - k) * (labelled - k) / size).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return divided(gap, np.sqrt(variance.sum(axis=1))), np.asarray(for_label / against)


def _zero_one(presence: sparse.spmatrix) -> sparse.csc_matrix:
    cues = sparse.csc_matrix(presence, copy=True)
    cues.eliminate_zeros()
    cues.sum_duplicates()
    if (cues.data != 1).any():
        raise ValueError("presence must hold only 0 and 1")
    return cues.astype(np.int64)
