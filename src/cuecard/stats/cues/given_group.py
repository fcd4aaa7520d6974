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
    mass = _mass(len(codes), weights, units)
    totals = np.bincount(codes, mass, minlength=int(wanted.max(initial=0)) + 1)
    squared = mass**2
    all_mass, all_squared = mass.sum(), squared.sum()
    of_label = {value: mass * (codes == value) for value in np.unique(wanted).tolist()}
    strata = 2**MOST_GIVEN
    shape = (len(columns), strata)
    k, n, labelled, whole = (np.zeros(shape) for _ in range(4))
    squares, all_squares = np.zeros(shape), np.zeros(shape)
    for i, column in enumerate(columns):
        of_cue = _rows(presence, column)
        pattern = np.zeros(len(codes), dtype=np.uint8)  # as many bits as MOST_GIVEN needs
        for bit, stronger in enumerate(np.asarray(given[i], dtype=np.int64)[:MOST_GIVEN]):
            pattern[_rows(presence, stronger)] |= 1 << bit
        touched, right = np.flatnonzero(pattern != 0), of_label[int(wanted[i])]
        kind = pattern[touched]
        whole[i] = np.bincount(kind, mass[touched], minlength=strata)
        labelled[i] = np.bincount(kind, right[touched], minlength=strata)
        all_squares[i] = np.bincount(kind, squared[touched], minlength=strata)
        # Most instances have none of the stronger cues: they are what is left of all.
        whole[i, 0] = all_mass - whole[i, 1:].sum()
        labelled[i, 0] = totals[wanted[i]] - labelled[i, 1:].sum()
        all_squares[i, 0] = all_squared - all_squares[i, 1:].sum()
        n[i] = np.bincount(pattern[of_cue], mass[of_cue], minlength=strata)
        k[i] = np.bincount(pattern[of_cue], right[of_cue], minlength=strata)
        squares[i] = np.bincount(pattern[of_cue], squared[of_cue], minlength=strata)
    if weights is None:
        cells = _rounded(k, n, labelled, whole)
    else:
        cells = effective_cells(k, n, labelled, whole, squares, np.maximum(all_squares - squares, 0.0))
    used = np.flatnonzero(cells[3].sum(axis=0) > 0) if len(columns) else np.zeros(1, dtype=np.int64)
    k_, n_, labelled_, whole_ = (part[:, used] for part in cells)
    log_p = stratified_hypergeometric_log_p(k_.sum(axis=1), n_, labelled_, whole_)
    z, _ = mantel_haenszel(*(part.astype(np.float64) for part in (k_, n_, labelled_, whole_)))
    return GroupStrength(z, log_p)


def _mass(n: int, weights: npt.ArrayLike | None, units: npt.ArrayLike | None) -> Floats:
    if weights is not None:
        return np.asarray(weights, dtype=np.float64)
    if units is None:
        return np.ones(n)
    codes = np.unique(np.asarray(units), return_inverse=True)[1].ravel()
    return np.asarray(1.0 / np.bincount(codes)[codes])


def _rows(presence: sparse.csc_matrix, column: int) -> Ints:
    return np.asarray(presence.indices[presence.indptr[column] : presence.indptr[column + 1]])


def _rounded(k: Floats, n: Floats, labelled: Floats, whole: Floats) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the four cells of every stratum as whole instances, and their sums."""
    cells = (k, n - k, labelled - k, whole - labelled - n + k)
    both, cue, label, neither = (np.rint(np.maximum(part, 0.0)).astype(np.int64) for part in cells)
    return both, both + cue, both + label, both + cue + label + neither
