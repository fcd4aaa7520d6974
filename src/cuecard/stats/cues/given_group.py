"""What a cue adds about a label once all the stronger cues it occurs with are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.cues.redundancy import effective_cells, mantel_haenszel
from cuecard.stats.stratified import stratified_hypergeometric_log_p

#: More stronger cues than these would leave strata of a few instances each.
MOST_GIVEN = 5


@dataclass(frozen=True, eq=False)
class GroupStrength:
    """What each cue adds to the stronger ones: Cochran, Mantel and Haenszel's z and the exact p-value."""

    z: Floats
    log_p: Floats


def strength_given_group(
    presence: sparse.csc_matrix,
    labels: npt.ArrayLike,
    cue: npt.ArrayLike,
    given: Sequence[npt.ArrayLike],
    label: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
) -> GroupStrength:
    """Strength of what cue[i] says about label[i] beyond the columns given[i] of `presence` (instances × cues, 0/1).

    Instances with the same of the stronger cues are one stratum. Conditioning on one of two stronger cues would leave
    the other one's effect in the result. At most `MOST_GIVEN` are taken, the first ones. With `weights` strata are
    counted as in `conditional_strength`; with `units`, codes that copies share, copies of a text count as one instance.

    A cue that occurs wherever one of two stronger ones does adds nothing to them:

    >>> strong = np.array([[1, 0], [0, 1], [0, 0]] * 20)
    >>> either = strong.any(axis=1).astype(int)
    >>> columns = sparse.csc_matrix(np.column_stack([strong, either]))
    >>> result = strength_given_group(columns, either, cue=[2], given=[[0, 1]], label=[1])
    >>> bool(np.isnan(result.z[0])), float(result.log_p[0])
    (True, 0.0)
    """
    codes = np.asarray(labels, dtype=np.int64)
    columns, wanted = np.asarray(cue, dtype=np.int64), np.asarray(label, dtype=np.int64)
    stronger = [np.asarray(each, dtype=np.int64) for each in given]
    if weights is not None:
        mass = np.asarray(weights, dtype=np.float64)
    else:
        sizes = np.ones(len(codes), dtype=np.int64)
        if units is not None:
            own = np.unique(np.asarray(units), return_inverse=True)[1].ravel()
            sizes = np.bincount(own)[own]
        mass = shares_of_units(sizes, len(codes))
    cells = group_cells(sparse.csc_matrix(presence), codes, columns, stronger, wanted, mass)
    return strength_in_strata(cells, weighted=weights is not None)


def shares_of_units(sizes: Ints, n: int) -> Floats:
    """Return what each instance counts in a unit of this size: one part of one, rounded to binary digits.

    With the digits that n instances leave, sums of these are exact: they do not depend on the order of the instances,
    or on the parts in which they are added up.

    >>> shares_of_units(np.array([1, 2]), 100)
    array([1. , 0.5])
    >>> shares = shares_of_units(np.full(300, 3), 300)
    >>> float(shares[:7].sum() + shares[7:].sum()) == float(shares.sum())
    True
    """
    scale = 2.0 ** (52 - int(n).bit_length())
    return np.asarray(np.rint(scale / sizes) / scale)


def group_cells(
    presence: sparse.csc_matrix,
    codes: Ints,
    cue: Ints,
    given: Sequence[Ints],
    label: Ints,
    mass: Floats,
) -> Floats:
    """Return the sums over some instances that `strength_in_strata` takes: those of other instances are added to them.

    They are k, n, labelled, whole, the squares of n and those of whole, for every cue and stratum; the arguments are
    those of `strength_given_group`, with what each instance counts.
    """
    totals = np.bincount(codes, mass, minlength=int(label.max(initial=0)) + 1)
    squared = mass**2
    all_mass, all_squared = mass.sum(), squared.sum()
    strata = 2**MOST_GIVEN
    cells = np.zeros((6, len(cue), strata))
    k, n, labelled, whole, squares, all_squares = cells
    pattern = np.zeros(len(codes), dtype=np.uint8)  # as many bits as MOST_GIVEN needs
    for i, column in enumerate(cue):
        of_cue = _rows(presence, column)
        stronger = [_rows(presence, one) for one in given[i][:MOST_GIVEN]]
        for bit, rows in enumerate(stronger):
            pattern[rows] |= 1 << bit
        touched = stronger[0] if len(stronger) == 1 else np.flatnonzero(pattern)
        kind = pattern[touched]
        whole[i] = np.bincount(kind, mass[touched], minlength=strata)
        labelled[i] = np.bincount(kind, mass[touched] * (codes[touched] == label[i]), minlength=strata)
        all_squares[i] = np.bincount(kind, squared[touched], minlength=strata)
        # Most instances have none of the stronger cues: they are what is left of all.
        whole[i, 0] = all_mass - whole[i, 1:].sum()
        labelled[i, 0] = totals[label[i]] - labelled[i, 1:].sum()
        all_squares[i, 0] = all_squared - all_squares[i, 1:].sum()
        kind = pattern[of_cue]
        n[i] = np.bincount(kind, mass[of_cue], minlength=strata)
        k[i] = np.bincount(kind, mass[of_cue] * (codes[of_cue] == label[i]), minlength=strata)
        squares[i] = np.bincount(kind, squared[of_cue], minlength=strata)
        for rows in stronger:
            pattern[rows] = 0
    return cells


def strength_in_strata(cells: Floats, *, weighted: bool = False) -> GroupStrength:
    """Return what `strength_given_group` does, from the sums of `group_cells` over all instances."""
    k, n, labelled, whole, squares, all_squares = cells
    if weighted:
        counts = effective_cells(k, n, labelled, whole, squares, np.maximum(all_squares - squares, 0.0))
    else:
        counts = _rounded(k, n, labelled, whole)
    used = np.flatnonzero(counts[3].sum(axis=0) > 0) if len(k) else np.zeros(1, dtype=np.int64)
    k_, n_, labelled_, whole_ = (part[:, used] for part in counts)
    log_p = stratified_hypergeometric_log_p(k_.sum(axis=1), n_, labelled_, whole_)
    z, _ = mantel_haenszel(*(part.astype(np.float64) for part in (k_, n_, labelled_, whole_)))
    return GroupStrength(z, log_p)


def _rows(presence: sparse.csc_matrix, column: int) -> Ints:
    return np.asarray(presence.indices[presence.indptr[column] : presence.indptr[column + 1]])


def _rounded(k: Floats, n: Floats, labelled: Floats, whole: Floats) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the four cells of every stratum as whole instances, and their sums."""
    cells = (k, n - k, labelled - k, whole - labelled - n + k)
    both, cue, label, neither = (np.rint(np.maximum(part, 0.0)).astype(np.int64) for part in cells)
    return both, both + cue, both + label, both + cue + label + neither
