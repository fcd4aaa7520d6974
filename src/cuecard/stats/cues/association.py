"""Cueness and exact tests of association between features and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import xlogy

from cuecard.stats import _native
from cuecard.stats.arrays import (
    Alternative,
    Floats,
    Ints,
    chosen_tail,
    divided,
    probabilities,
    successes_of,
    whole_counts,
)
from cuecard.stats.clusters.divergence import as_distributions, jensen_shannon
from cuecard.stats.cues.redundancy import MASKED, effective_cells, mantel_haenszel, remainder
from cuecard.stats.cues.within_example import stratified_hypergeometric_log_p


def share(k: npt.ArrayLike, n: npt.ArrayLike) -> Floats:
    """Share p̂ = k / n of a label among the n instances with the feature; nan where n is 0.

    >>> share([30, 0], [40, 0])
    array([0.75,  nan])
    """
    successes, trials = successes_of(k, n)
    return divided(successes, trials)


def lift(k: npt.ArrayLike, n: npt.ArrayLike, prior: npt.ArrayLike) -> Floats:
    """Lift p̂ / p0 of a label by the feature: 1 is no association, 2 is twice as frequent as its prior.

    >>> lift(30, 40, 0.5)
    array(1.5)
    """
    base = probabilities("prior", prior)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(share(k, n) / base)


def artifact_z(k: npt.ArrayLike, n: npt.ArrayLike, prior: npt.ArrayLike) -> Floats:
    """Artifact statistic z of k label instances among the n with the feature (Gardner et al. 2021, eq. 1).

        z = (p̂ − p0) / sqrt(p0 (1 − p0) / n),   p̂ = k / n

    p0 is the label's prior, or 1/|L|. nan where n is 0 or the prior leaves nothing to chance.

    >>> artifact_z([60, 40], 100, 0.5)
    array([ 2., -2.])
    """
    base = probabilities("prior", prior)
    successes, trials = successes_of(k, n)
    spread = np.sqrt(trials * base * (1 - base))
    return divided(successes - trials * base, spread)


def binomial_log_tails_at(k: npt.ArrayLike, n: npt.ArrayLike, prior: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Natural logs of P(X ≤ k) and P(X ≥ k) for X ~ Binomial(n, prior), exact far below the smallest float.

    >>> less, greater = binomial_log_tails_at(3, 3, 0.5)
    >>> float(less), float(greater.round(6))
    (0.0, -2.079442)
    """
    successes, trials = successes_of(k, n)
    successes, trials, base = np.broadcast_arrays(successes, trials, probabilities("prior", prior))
    less, greater = np.empty(successes.size), np.empty(successes.size)
    _native.binomial_log_tails(successes.flatten(), trials.flatten(), base.flatten(), less, greater)
    return less.reshape(successes.shape), greater.reshape(successes.shape)


def binomial_log_p(
    k: npt.ArrayLike,
    n: npt.ArrayLike,
    prior: npt.ArrayLike,
    alternative: Alternative = "two-sided",
) -> Floats:
    """Natural log of the exact binomial p-value of k out of n where each succeeds with probability `prior`.

    It never underflows: the leading term is taken in saddle-point form and the rest of the tail as a ratio
    to it, so 1e-100000 is as exact as 0.1. Two-sided is twice the smaller tail, at most 1: it never drops
    when the evidence weakens and agrees with the Clopper–Pearson interval, which the sum over all outcomes
    no likelier than k does not. 0 of 0 is no evidence: p = 1.

    >>> np.exp(binomial_log_p([8, 6, 4], 8, 0.5)).round(4)
    array([0.0078, 0.2891, 1.    ])
    >>> (binomial_log_p([10_000], 10_000, 0.5, "greater") / np.log(10)).round(1)
    array([-3010.3])
    """
    return chosen_tail(alternative, *binomial_log_tails_at(k, n, prior))


def pmi(k: npt.ArrayLike, n: npt.ArrayLike, label_total: npt.ArrayLike, total: npt.ArrayLike) -> Floats:
    """Pointwise mutual information of feature and label in bits (log base 2), −inf where they never meet.

        PMI = log2( p(f, l) / (p(f) p(l)) ) = log2( k · total / (n · label_total) )

    k instances have both, n the feature, `label_total` the label, `total` is all instances.

    >>> pmi(40, 40, 50, 100)
    array(1.)
    """
    successes, trials = successes_of(k, n)
    labelled, everything = successes_of(label_total, total)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(successes * everything / (trials * labelled)))


def lmi(k: npt.ArrayLike, n: npt.ArrayLike, label_total: npt.ArrayLike, total: npt.ArrayLike) -> Floats:
    """Local mutual information in bits: p(f, l) · PMI(f, l), p(f, l) = k / total; 0 where they never meet.

    Unlike PMI it is small for rare features, however one-sided.

    >>> lmi([40, 0], 40, 50, 100)
    array([0.4, 0. ])
    """
    information = pmi(k, n, label_total, total)
    together = share(k, total)
    return np.multiply(together, information, out=np.zeros(information.shape), where=together != 0)


def mutual_information(with_counts: npt.ArrayLike, totals: npt.ArrayLike) -> Floats:
    """Mutual information in bits between having each feature (yes/no) and the label.

        I(F; Y) = Σ_f Σ_y p(f, y) log2( p(f, y) / (p(f) p(y)) )

    `with_counts[f, y]` instances of label y have feature f; `totals[y]` instances have label y in all.

    >>> mutual_information([[50, 0], [25, 25]], [50, 50])
    array([1., 0.])
    """
    having, labels = whole_counts("with_counts", with_counts), whole_counts("totals", totals)
    if having.ndim != 2 or labels.shape != (having.shape[1],):
        raise ValueError(
            "with_counts must have a row per feature and a column per label, totals one entry per label"
        )
    if (having > labels).any():
        raise ValueError(
            "with_counts must not exceed totals: a feature cannot occur in more instances than exist"
        )
    total = labels.sum()
    if total == 0:
        return np.full(len(having), np.nan)
    information = np.zeros(len(having))
    for part in (having, labels - having):
        expected = part.sum(axis=1, keepdims=True) * (labels / total)
        ratio = np.divide(part, expected, out=np.ones_like(part), where=expected > 0)
        information += xlogy(part, ratio).sum(axis=1)
    # Independent feature and label can leave −1e-17 by rounding.
    return np.asarray(np.maximum(information / (total * np.log(2)), 0.0))


def cueness(
    train_counts: npt.ArrayLike,
    test_counts: npt.ArrayLike | None = None,
    *,
    prior: npt.ArrayLike | None = None,
    test_prior: npt.ArrayLike | None = None,
) -> Floats:
    """Cueness in percent of each feature, from its counts per label (rows: features, columns: labels).

    The "ICQ" paper's eq. 2, on proportions (as its Table 2 is, not on counts as printed):

        cueness = 100 · mean_l (p_l − 1/|L|)² / exp(JSD(train, test))

    p_l is the share of label l among the training instances that have the feature; JSD is the natural-log
    Jensen–Shannon divergence of the feature's train and test label distributions. Where nothing is known
    about test (no `test_counts`, or a feature with no test instance) JSD is 0. A feature with no train
    instance has no cueness: nan.

    A word seen 69 times with the right and 31 times with the wrong choice, in test just so and then reversed:

    >>> cueness([[69, 31], [69, 31], [0, 0]], [[138, 62], [31, 69], [5, 5]]).round(2)
    array([3.61, 3.35,  nan])
    >>> cueness([[69, 31]]).round(2)
    array([3.61])

    With `prior`, the share of every label of train, cueness is label-balanced: counts are divided by it first, so that
    a feature that says nothing has cueness 0 however many instances a label has. Test counts are divided by
    `test_prior`, which is the same by default. A label without any instance (prior 0) is left out. One of four choices
    is right:

    >>> cueness([[25, 75], [40, 60]], prior=[0.25, 0.75]).round(2)
    array([0.  , 2.78])
    """
    train = _label_counts("train_counts", train_counts)
    if prior is not None:
        present = np.asarray(prior, dtype=np.float64) > 0
        train = _balanced("prior", train, prior)[:, present]
        if not present.any():
            return np.full(len(train), np.nan)
    proportions = as_distributions("train_counts", train)
    strength = 100 * np.mean((proportions - 1 / train.shape[1]) ** 2, axis=1)
    if test_counts is None:
        return np.asarray(strength)
    test = _label_counts("test_counts", test_counts)
    if prior is not None and test.shape[1] == len(present):
        test = _balanced("test_prior", test, prior if test_prior is None else test_prior)[:, present]
    if test.shape != train.shape:
        raise ValueError(f"train_counts {train.shape} and test_counts {test.shape} must have the same shape")
    disagreement = np.where(test.sum(axis=1) > 0, jensen_shannon(train, test), 0.0)
    return np.asarray(strength / np.exp(disagreement))


def _balanced(name: str, counts: Floats, prior: npt.ArrayLike) -> Floats:
    """Counts divided by the label's share, 0 where a label has none."""
    share = probabilities(name, prior)
    if share.shape != (counts.shape[1],):
        raise ValueError(f"{name} must hold a share for each of the {counts.shape[1]} labels")
    return np.divide(counts, share, out=np.zeros(counts.shape), where=share > 0)


def _label_counts(name: str, counts: npt.ArrayLike) -> Floats:
    array = whole_counts(name, counts)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ValueError(
            f"{name} must be a table with a row per feature and a column for each of two or more labels"
        )
    return array


#: More stronger cues than these would leave strata of a few instances each.
MOST_GIVEN = 5
#: Sums over sets of companions that are held at a time.
_SUMS = 1 << 22


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
    weighted = weights is not None
    cells = group_cells(presence, codes, columns, stronger, wanted, mass, weighted=weighted)
    return strength_in_strata(strata_of_cells(cells, weighted=weighted))


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
    presence: sparse.spmatrix,
    codes: Ints,
    cue: Ints,
    given: Sequence[Ints],
    label: Ints,
    mass: Floats,
    *,
    weighted: bool = False,
) -> Floats:
    """Return the sums over some instances that `strata_of_cells` takes: those of other instances are added to them.

    They are k, n, labelled and whole for every cue and stratum, and with `weighted` the squares of n and those of
    whole; the arguments are those of `strength_given_group`, with what each instance counts.
    """
    groups = [np.asarray(each[:MOST_GIVEN], dtype=np.int64) for each in given]
    n_labels = int(max(codes.max(initial=0), label.max(initial=0))) + 1
    cells = np.zeros((6 if weighted else 4, len(cue), 2**MOST_GIVEN))
    rows = sparse.csr_matrix(presence)
    n_companions = len(np.unique(np.concatenate(groups))) if groups else 0
    size = max(1, MASKED // max(1, n_companions))
    masses = [mass, mass**2] if weighted else [mass]
    batch = max(1, _SUMS // (n_labels * 2**MOST_GIVEN))
    for start in range(0, len(codes), size):
        chunk = slice(start, start + size)
        columns = rows[chunk].tocsc()
        for first in range(0, len(cue), batch):
            some = slice(first, first + batch)
            own = [each[chunk] for each in masses]
            cells[:, some] += _cells(
                columns, codes[chunk], cue[some], groups[some], label[some], own, n_labels
            )
    return cells


def _cells(
    columns: sparse.csc_matrix,
    codes: Ints,
    cue: Ints,
    groups: Sequence[Ints],
    label: Ints,
    masses: Sequence[Floats],
    n_labels: int,
) -> Floats:
    """Return the sums of `group_cells` over some rows.

    The rows of a set of companions are found among those of the set without its last one, and once however many cues
    travel with it: sets go from the rarest companion to the most frequent one.
    """
    sizes = np.diff(columns.indptr)
    companions = np.unique(np.concatenate(groups)) if groups else np.empty(0, dtype=np.int64)
    companions = companions[np.argsort(sizes[companions], kind="stable")].astype(np.int64)
    place = np.zeros(columns.shape[1], dtype=np.int64)
    place[companions] = np.arange(len(companions))
    given = np.full((len(cue), MOST_GIVEN), -1, dtype=np.int64)
    sets: dict[tuple[int, ...], int] = {(): 0}
    of_pattern = np.zeros((len(cue), 2**MOST_GIVEN), dtype=np.int64)
    for i, group in enumerate(groups):
        places = place[group].tolist()
        given[i, : len(places)] = places
        for pattern in range(1, 1 << len(places)):
            found = tuple(sorted(place for bit, place in enumerate(places) if pattern >> bit & 1))
            of_pattern[i, pattern] = sets.setdefault(found, len(sets))
    # A set without its last companion is a set as well, which stands before it.
    standing = sorted(sets)
    rank = np.empty(len(sets), dtype=np.int64)
    rank[[sets[found] for found in standing]] = np.arange(len(sets))
    of_pattern = rank[of_pattern]
    last = np.array([-1, *(found[-1] for found in standing[1:])], dtype=np.int64)
    depth = np.array([len(found) for found in standing], dtype=np.int64)
    indptr, indices = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
    sums, labelled_with, with_cue = zip(
        *(
            _native.strata_sums(
                indptr, indices, companions, last, depth, cue, given, codes, label, mass, n_labels
            )
            for mass in masses
        ),
        strict=True,
    )
    # A pattern with more bits than a cue has companions is of no instance.
    there = np.arange(2**MOST_GIVEN) < np.array([[1 << len(group)] for group in groups])
    labelled = _exactly(np.where(there, sums[0][of_pattern, label[:, None]], 0.0))
    whole, *squares = (_exactly(np.where(there, each.sum(axis=1)[of_pattern], 0.0)) for each in sums)
    return np.stack([labelled_with[0], with_cue[0], labelled, whole, *with_cue[1:], *squares])


def _exactly(sums: Floats) -> Floats:
    """Return the sums over instances with exactly the companions of a pattern, from those with at least these."""
    cells = sums.reshape(len(sums), *[2] * MOST_GIVEN)
    for bit in range(MOST_GIVEN):
        halves = np.moveaxis(cells, 1 + bit, 0)
        halves[0] -= halves[1]
    return cells.reshape(len(sums), -1)


#: Of every cue (rows) and stratum (columns), in whole instances: with cue and label, with the cue, with the label, all.
Strata: TypeAlias = tuple[Ints, Ints, Ints, Ints]


def strata_of_cells(cells: Floats, *, weighted: bool = False) -> Strata:
    """Return the counts in all strata that have instances, from the sums of `group_cells` over all instances."""
    k, n, labelled, whole = cells[:4]
    if weighted:
        squares, all_squares = cells[4:]
        counts = effective_cells(k, n, labelled, whole, squares, remainder(all_squares, squares))
    else:
        counts = _rounded(k, n, labelled, whole)
    used = np.flatnonzero(counts[3].sum(axis=0) > 0) if len(k) else np.zeros(1, dtype=np.int64)
    both, with_cue, with_label, every = (part[:, used] for part in counts)
    return both, with_cue, with_label, every


def strength_in_strata(strata: Strata) -> GroupStrength:
    """Return what `strength_given_group` does of the cues whose strata are given."""
    log_p = stratified_hypergeometric_log_p(strata[0].sum(axis=1), *strata[1:])
    z, _ = mantel_haenszel(*(part.astype(np.float64) for part in strata))
    return GroupStrength(z, log_p)


def _rounded(k: Floats, n: Floats, labelled: Floats, whole: Floats) -> Strata:
    """Return the four cells of every stratum as whole instances, and their sums."""
    cells = (k, n - k, labelled - k, whole - labelled - n + k)
    both, cue, label, neither = (np.rint(np.maximum(part, 0.0)).astype(np.int64) for part in cells)
    return both, both + cue, both + label, both + cue + label + neither
