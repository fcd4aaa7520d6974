"""Each feature against chance: the null that fits the task, the weights and the copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.features import CueCounts
from cuecard.features.units import SQUARES
from cuecard.stats import binomial_log_p, within_example_test
from cuecard.stats._arrays import divided
from cuecard.stats.arrays import Floats

Sums = npt.NDArray[Any]


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
