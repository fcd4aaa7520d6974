"""From counts to statistics: every number the cue tables hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.features import CueCounts
from cuecard.features.units import NOT_COUNTS, SQUARES, TEXTS
from cuecard.stats import (
    binomial_log_p,
    cueness,
    lmi,
    mutual_information,
    pmi,
    q_values,
    wilson,
    within_example_test,
)
from cuecard.stats.arrays import Floats, Ints, divided
from cuecard.stats.cues.replication import ShrunkShares, shrunk_shares

Sums: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NullTest:
    """Tests of features × labels, and the instances that a label's share is taken of.

    `z` counts instances; `log_p` counts units of independence, and `least_log_p` is the smallest that a feature could
    reach. `share_k` of `share_n` instances have the label, where `chance` of them would by chance; `worth` of them are
    independent.
    """

    z: Floats
    log_p: Floats
    least_log_p: Floats
    chance: Floats
    share_k: Sums
    share_n: Sums
    worth: Floats


def independent(
    counts: CueCounts, features: pl.DataFrame, train: Sums, prior: Floats, *, known_prior: bool
) -> NullTest:
    """Test instances that are independent but for copies: binomial with the labels' priors.

    A feature's n instances count as n² / Σ of their correlations (`stats.units.correlation`), rounded to whole
    instances. Under weights that is (Σw)² / Σ_c (Σw)², and the test is that of random (label, weight) pairs. The prior
    is itself uncertain where few texts make up many instances: a feature must also differ from the label's share of
    distinct texts, as far as copies correlate, and the larger p-value counts.
    """
    n = train.sum(axis=1)
    scale = np.nan_to_num(divided(n, features[SQUARES].to_numpy()))
    tested = np.rint(train * scale[:, None]).astype(np.int64)
    size = tested.sum(axis=1)
    z = np.nan_to_num(divided(train - n[:, None] * prior, np.sqrt(n[:, None] * prior * (1 - prior))))
    log_p = binomial_log_p(tested, size[:, None], prior)
    if not known_prior and counts.text_priors is not None:
        for of_texts in counts.text_priors:
            other = prior + counts.copy_correlation * (of_texts - prior)
            log_p = np.maximum(log_p, binomial_log_p(tested, size[:, None], other))
    with np.errstate(divide="ignore"):
        rarest = np.minimum(np.log(prior), np.log1p(-prior))
    usable = (prior > 0) & (prior < 1)
    least = np.where(usable, np.log(2.0) + size[:, None] * np.where(usable, rarest, 0.0), 0.0)
    if counts.shuffled is not None:
        rows = features.select("family", "feature").join(
            counts.shuffled, on=["family", "feature"], how="left", maintain_order="left"
        )
        z, log_p, least = (
            rows.select(f"{name}_{i}" for i in range(train.shape[1])).to_numpy()
            for name in ("z", "log_p", "least")
        )
    chance = np.broadcast_to(prior, z.shape)
    return NullTest(z, log_p, np.minimum(least, 0.0), chance, train, n, size.astype(np.float64))


def within_examples(within: pl.DataFrame, features: pl.DataFrame, train: Sums) -> NullTest:
    """Test instances of which one is right in every example; right and wrong are one test, seen from both sides.

    Only examples whose instances differ in the feature say something. So the share of right ones is taken of their
    instances with the feature, and its chance is the mean of 1/k over these.
    """
    keys = ["family", "feature"]
    numbered = features.select(keys).with_row_index("code")
    rows = within.join(numbered, on=keys, how="inner", maintain_order="left")
    code, k, m = (rows[name].to_numpy() for name in ("code", "k", "m"))
    examples, right = rows["examples"].to_numpy(), rows["right"].to_numpy()
    telling = m < k
    size = features.height

    def total(values: Sums) -> Floats:
        return np.bincount(code[telling], weights=values[telling], minlength=size).astype(np.float64)

    informative, observed, having = total(examples), total(right), total(examples * m)
    expected = total(examples * m / k)
    variance = total(rows["squared_weights"].to_numpy() * m / k * (1 - m / k))
    # Squares are sums of whole numbers where there are no weights, so without copies the scale is exactly one.
    scale = np.nan_to_num(divided(informative, features[SQUARES].to_numpy()))
    worth = np.where(scale[code] > 0, scale[code], 1.0)
    test = within_example_test(
        code,
        k,
        m,
        np.rint(examples * worth).astype(np.int64),
        np.rint(right * worth).astype(np.int64),
        n_features=size,
    )
    # A feature that every choice has, or none, says nothing: not a number of σ.
    z = np.nan_to_num(divided(observed - expected, np.sqrt(variance)))
    log_p = test.log_p()
    effective = np.rint(examples * worth)
    with np.errstate(divide="ignore"):
        all_right, none_right = (
            total(effective * np.log(m / k)),
            total(effective * np.log1p(-m / k * telling)),
        )
    least = np.minimum(np.log(2.0) + np.minimum(all_right, none_right), 0.0)
    chance = divided(expected, having)
    untold = having == 0
    share_n = np.where(untold, train.sum(axis=1), having)
    share_right = np.where(untold, train[:, 0], observed)
    chance = np.where(untold, _plain_chance(code, k, m, examples, size), chance)
    return NullTest(
        np.column_stack([z, -z]),
        np.column_stack([log_p, log_p]),
        np.column_stack([least, least]),
        np.column_stack([chance, 1 - chance]),
        np.column_stack([share_right, share_n - share_right]),
        share_n,
        share_n * np.where(scale > 0, scale, 1.0),
    )


def _plain_chance(code: Sums, k: Sums, m: Sums, examples: Sums, size: int) -> Floats:
    """Return the mean of 1/k over all instances with each feature."""
    instances = np.bincount(code, weights=examples * m, minlength=size)
    return divided(np.bincount(code, weights=examples * m / k, minlength=size), instances)


Correction = Literal["bh", "by"]
Prior = Literal["train", "uniform"]
#: How the table of cues is sorted.
Order = Literal["significance", "cueness"]
LN10 = np.log(10.0)
#: What a feature does to its label.
POINTS_TO, RULES_OUT = "points to", "rules out"
#: Weighted counts are handed to statistics of proportions in millionths: they ask for whole numbers.
MILLION = 1_000_000

#: With more labels than this, the table of associations lists only the labels that a feature occurs with or is
#: significantly associated with: nearly all pairs of 990 labels and 10,000 features never occur.
ALL_LABELS = 64


@dataclass(frozen=True, eq=False)
class CueTables:
    """The two tables of the cue audit, strongest association first."""

    cues: pl.DataFrame
    associations: pl.DataFrame
    prior: npt.NDArray[np.float64]


def cue_tables(
    counts: CueCounts,
    *,
    min_count: int,
    per_label: bool = False,
    alpha: float = 0.05,
    correction: Correction = "bh",
    prior: Prior = "train",
) -> CueTables:
    """Return one row per feature and one row per feature × label, all tested against the right null.

    The null of a pair or a text is binomial with the label's prior. The instances of a `choice` or `preference`
    example are not independent, so there the right instance is exchangeable within its example instead, and shares are
    of the examples whose instances differ in the feature.

    Copies of a text are one observation of its features: tests and intervals take effective counts. Under weights,
    shares and other sizes are of weight, and tests draw (label, weight) pairs together, whatever the prior. A feature's
    label is the one that it points to, if that is significant; otherwise the one of the smallest p-value, which it may
    rule out.
    """
    n_labels = len(counts.labels)
    in_train = pl.sum_horizontal(f"train_{label}" for label in counts.labels)
    # Weighted features were chosen by their number of instances, which their weight does not tell.
    weighted = counts.totals.dtype.kind == "f"
    enough = in_train > 0 if weighted else in_train >= min_count
    # Sorted by name, so that equally strong features have the same order however they were counted.
    features = counts.features.filter(enough).sort("family", "feature")
    by_label = features.select(pl.exclude(*NOT_COUNTS))
    by_class = by_label.to_numpy()
    train, test = by_class[:, :n_labels], by_class[:, n_labels:]
    has_test = bool(counts.totals[1].sum())
    label_totals = counts.totals[0]
    p0 = label_totals / label_totals.sum() if prior == "train" else np.full(n_labels, 1 / n_labels)
    null = (
        independent(counts, features, train, p0, known_prior=prior == "uniform")
        if counts.within is None
        else within_examples(counts.within, features, train)
    )
    q = q_values(null.log_p.ravel(), correction, least_log_p=null.least_log_p.ravel(), alpha=alpha)
    q = q.reshape(null.log_p.shape)

    # A label that only test has is nothing that a feature of the training set could point to.
    best = _most_telling(null.log_p, np.where(label_totals > 0, null.z, -np.inf), q <= alpha)
    rows = np.arange(len(best))
    z, log_p, chance = null.z[rows, best], null.log_p[rows, best], null.chance[rows, best]
    share = divided(null.share_k[rows, best], null.share_n)
    size = np.rint(null.worth)
    low, high = wilson(np.minimum(np.rint(share * size), size), size) if len(rows) else (share, share)
    adjusted = _adjusted(null, best, size)
    mass, test_mass, label_mass = (_whole(part) if weighted else part for part in (train, test, label_totals))
    scores = cueness(
        mass,
        test_mass if has_test else None,
        prior=label_totals / label_totals.sum(),
        test_prior=counts.totals[1] / counts.totals[1].sum() if has_test else None,
    )
    frequent = _frequent(train, min_count, per_label) & (
        _frequent(test, min_count, per_label) | (not has_test)
    )
    cues = features.select("family", "feature").with_columns(
        train_count=train.sum(axis=1),
        test_count=test.sum(axis=1),
        train_texts=features[TEXTS],
        cueness=scores,
        label=pl.Series(np.array(counts.labels, dtype=object)[best], dtype=pl.String),
        direction=pl.Series(np.where(z < 0, RULES_OUT, POINTS_TO), dtype=pl.String),
        share=share,
        share_low=low,
        share_high=high,
        adjusted_share=adjusted.share,
        adjusted_low=adjusted.low,
        adjusted_high=adjusted.high,
        share_n=null.share_n,
        effective_n=size.astype(np.int64),
        chance=chance,
        lift=divided(share, chance),
        z=z,
        p_value=np.exp(log_p),
        log10_p=log_p / LN10,
        q_value=q[rows, best],
        mutual_information=mutual_information(np.minimum(mass, label_mass), label_mass),
        significant=q[rows, best] <= alpha,
        is_cue=frequent & (np.abs(z) > 1e-12),
    )
    # A feature too rare to be tested has q = 1, however small its p-value is.
    by_significance = np.lexsort((-z, log_p, q[rows, best]))
    cues = in_order(pl.concat([cues, by_label], how="horizontal"), by_significance)
    listed = np.ones(q.shape, dtype=np.bool_) if n_labels <= ALL_LABELS else (train > 0) | (q <= alpha)
    associations = _associations(features, counts.labels, listed, train, null, q, mass, label_mass)
    del null, q, scores, adjusted  # a million features: memory holds little beside the tables
    strongest = np.argsort(associations["log10_p"].to_numpy(), kind="stable")
    return CueTables(cues, in_order(associations, strongest), p0)


def in_order(table: pl.DataFrame, rows: Ints) -> pl.DataFrame:
    """Return rows of a table in some order; the table is emptied column by column, so that memory holds it once."""
    return pl.DataFrame([table.drop_in_place(name).gather(rows) for name in table.columns])


def _most_telling(
    log_p: npt.NDArray[np.float64], z: npt.NDArray[np.float64], significant: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Return the label that each feature points to, or, where that is not significant, of its smallest p-value."""
    pointed = np.where(significant & (z > 0), z, -np.inf)
    least = log_p.min(axis=1, keepdims=True)
    # The two tests of two labels are one, but for rounding.
    equal = log_p <= least + 1e-9 * np.maximum(1.0, np.abs(least))
    telling = np.where(equal, z, -np.inf).argmax(axis=1)
    best = np.where(np.isfinite(pointed).any(axis=1), pointed.argmax(axis=1), telling)
    return np.asarray(best, dtype=np.int64)


def _adjusted(null: NullTest, best: npt.NDArray[np.int64], size: npt.NDArray[np.float64]) -> ShrunkShares:
    """Return the share of each feature's label, corrected for picking the strongest features."""
    columns = [np.full(len(best), np.nan) for _ in range(3)]
    for label in np.unique(best):
        share = np.nan_to_num(divided(null.share_k[:, label], null.share_n))
        enough = size > 0
        shrunk = shrunk_shares(np.minimum(np.rint(share * size), size)[enough], size[enough])
        here = best[enough] == label
        raw, chance = share[enough], null.chance[enough, label]
        # Luck makes a selected share look further from chance than it is; the correction never adds to it.
        nearer = np.where(raw > chance, np.minimum(shrunk.share, raw), np.maximum(shrunk.share, raw))
        ends = np.minimum(shrunk.low, nearer), np.maximum(shrunk.high, nearer)
        for column, values in zip(columns, (nearer, *ends), strict=True):
            column[np.flatnonzero(enough)[here]] = values[here]
    return ShrunkShares(*columns)


def _whole(counts: Sums) -> Ints:
    return np.rint(counts * MILLION).astype(np.int64)


def _frequent(counts: Sums, min_count: int, per_label: bool) -> npt.NDArray[np.bool_]:
    often: npt.NDArray[np.bool_] = (counts.min(axis=1) if per_label else counts.sum(axis=1)) >= min_count
    return often


def _associations(
    features: pl.DataFrame,
    labels: tuple[str, ...],
    listed: npt.NDArray[np.bool_],
    train: Sums,
    null: NullTest,
    q: npt.NDArray[np.float64],
    mass: Sums,
    label_mass: Sums,
) -> pl.DataFrame:
    """Return one row per feature × label that is listed."""
    total, of_feature, in_train = label_mass.sum(), mass.sum(axis=1), train.sum(axis=1)
    named = features.select("family", "feature")
    parts = []
    for i, label in enumerate(labels):
        at = np.flatnonzero(listed[:, i])
        together = mass[at, i], of_feature[at], label_mass[i], total
        parts.append(
            named[at].with_columns(
                label=pl.lit(label),
                n=in_train[at],
                k=train[at, i],
                z=null.z[at, i],
                log10_p=null.log_p[at, i] / LN10,
                q_value=q[at, i],
                pmi=pmi(*together),
                lmi=lmi(*together),
            )
        )
    return pl.concat(parts)
