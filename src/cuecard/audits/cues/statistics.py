"""From counts to statistics: every number the cue tables hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.features import CueCounts
from cuecard.features.weighted_counts import SQUARED_WEIGHTS
from cuecard.stats import (
    artifact_z,
    binomial_log_p,
    cueness,
    lmi,
    mutual_information,
    pmi,
    q_values,
    wilson,
    within_example_test,
)
from cuecard.stats.weighted import effective_counts

Correction = Literal["bh", "by"]
Prior = Literal["train", "uniform"]
LN10 = np.log(10.0)
#: Weighted counts are handed to statistics of proportions in millionths: they ask for whole numbers.
MILLION = 1_000_000

Counts: TypeAlias = npt.NDArray[np.int64]
Sums: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]


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
    """Return one row per feature and one row per feature × label, tested against the right null.

    The null of a pair or a text is binomial with the label's prior. The instances of a `choice` or `preference`
    example are not independent, so there the right instance is exchangeable within its example instead.

    Weighted counts give shares and other sizes as they are. Tests and intervals take effective counts instead: a
    feature's instances of total weight Σw say as much as (Σw)² / Σw² of equal weight (Kish), rounded to whole ones.
    """
    n_labels = len(counts.labels)
    in_train = pl.sum_horizontal(f"train_{label}" for label in counts.labels)
    # Weighted features were chosen by their number of instances, which their weight does not tell.
    weighted = SQUARED_WEIGHTS in counts.features.columns
    enough = in_train > 0 if weighted else in_train >= min_count
    # Sorted by name, so that equally strong features stand in the same order however they were counted.
    features = counts.features.filter(enough).sort("family", "feature")
    by_class = features.select(pl.exclude("family", "feature", SQUARED_WEIGHTS)).to_numpy()
    train, test = by_class[:, :n_labels], by_class[:, n_labels:]
    has_test = bool(counts.totals[1].sum())

    n = train.sum(axis=1)
    tested = effective_counts(train, features[SQUARED_WEIGHTS].to_numpy()) if weighted else train
    tested_n = tested.sum(axis=1)
    label_totals = counts.totals[0]
    p0 = label_totals / label_totals.sum() if prior == "train" else np.full(n_labels, 1 / n_labels)
    if counts.within is None:
        z = np.nan_to_num(artifact_z(tested, tested_n[:, None], p0))
        log_p = binomial_log_p(tested, tested_n[:, None], p0)
        chance = np.broadcast_to(p0, z.shape)
    else:
        z, log_p, chance = _within_example(counts.within, features)
    q = q_values(log_p.ravel(), method=correction).reshape(log_p.shape)

    best = z.argmax(axis=1)
    rows = np.arange(len(best))
    order = np.lexsort((-z[rows, best], log_p[rows, best]))
    k = train[rows, best]
    low, high = wilson(tested[rows, best], tested_n)
    mass, test_mass, label_mass = (_whole(part) if weighted else part for part in (train, test, label_totals))
    scores = cueness(mass, test_mass if has_test else None)
    frequent = _frequent(train, min_count, per_label) & (
        _frequent(test, min_count, per_label) | (not has_test)
    )
    cues = features.select("family", "feature").with_columns(
        train_count=n,
        test_count=test.sum(axis=1),
        cueness=scores,
        label=pl.Series(np.array(counts.labels, dtype=object)[best], dtype=pl.String),
        share=k / n,
        share_low=low,
        share_high=high,
        chance=chance[rows, best],
        lift=k / n / chance[rows, best],
        z=z[rows, best],
        p_value=np.exp(log_p[rows, best]),
        log10_p=log_p[rows, best] / LN10,
        q_value=q[rows, best],
        mutual_information=mutual_information(np.minimum(mass, label_mass), label_mass),
        significant=q[rows, best] <= alpha,
        is_cue=frequent & (scores > 1e-12),
    )
    by_label = features.select(pl.exclude("family", "feature", SQUARED_WEIGHTS))
    cues = pl.concat([cues, by_label], how="horizontal")
    associations = _associations(features, counts.labels, train, z, log_p, q, mass, label_mass)
    return CueTables(cues[order], associations.sort("log10_p", maintain_order=True), p0)


def _whole(counts: Sums) -> Counts:
    return np.rint(counts * MILLION).astype(np.int64)


def _frequent(counts: Sums, min_count: int, per_label: bool) -> npt.NDArray[np.bool_]:
    often: npt.NDArray[np.bool_] = (counts.min(axis=1) if per_label else counts.sum(axis=1)) >= min_count
    return often


def _within_example(
    within: pl.DataFrame, features: pl.DataFrame
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return z, log p and the chance of right and wrong; the two are one test, seen from both sides.

    The chance that an instance with the feature is right is the mean of 1/k over those instances.
    """
    keys = ["family", "feature"]
    numbered = features.select(keys).with_row_index("code")
    rows = within.join(numbered, on=keys, how="inner", maintain_order="left")
    test = within_example_test(
        rows["code"].to_numpy(),
        rows["k"].to_numpy(),
        rows["m"].to_numpy(),
        rows["examples"].to_numpy(),
        rows["right"].to_numpy(),
        n_features=features.height,
    )
    z = np.nan_to_num(test.z)  # a feature that every choice has, or none, says nothing: not a number of σ
    log_p = test.log_p()
    chance = np.full(features.height, np.nan)
    by_feature = (
        rows.group_by("code")
        .agg(
            instances=(pl.col("examples") * pl.col("m")).sum(),
            right=(pl.col("examples") * pl.col("m") / pl.col("k")).sum(),
        )
        .filter(pl.col("instances") > 0)
    )
    chance[by_feature["code"].to_numpy()] = (by_feature["right"] / by_feature["instances"]).to_numpy()
    return np.column_stack([z, -z]), np.column_stack([log_p, log_p]), np.column_stack([chance, 1 - chance])


def _associations(
    features: pl.DataFrame,
    labels: tuple[str, ...],
    train: Sums,
    z: npt.NDArray[np.float64],
    log_p: npt.NDArray[np.float64],
    q: npt.NDArray[np.float64],
    mass: Sums,
    label_mass: Sums,
) -> pl.DataFrame:
    """Return one row per feature × label."""
    total, of_feature = label_mass.sum(), mass.sum(axis=1)
    parts = [
        features.select("family", "feature").with_columns(
            label=pl.lit(label),
            n=train.sum(axis=1),
            k=train[:, i],
            z=z[:, i],
            log10_p=log_p[:, i] / LN10,
            q_value=q[:, i],
            pmi=pmi(mass[:, i], of_feature, label_mass[i], total),
            lmi=lmi(mass[:, i], of_feature, label_mass[i], total),
        )
        for i, label in enumerate(labels)
    ]
    return pl.concat(parts)
