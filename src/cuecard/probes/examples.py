"""The test examples that predictions are about; tests and intervals where they share texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Examples, Instances
from cuecard.data.units import UnitScope
from cuecard.errors import InputError
from cuecard.stats import log_q_values, wilson
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import design_effects, widened
from cuecard.stats.scores.cross_fit_intervals import mean_interval

#: Stands where a model gave no answer that can be read; it is counted, and never right.
UNANSWERED = -1


def check_test(data: Instances) -> Examples:
    """Return the test examples, or raise if there is no test split to probe a model on."""
    if data.test is None or not len(data.test):
        raise InputError(
            f"{data.name} has no test split, and models are tested on one: add it with --test, "
            "or draw one with --holdout 0.2."
        )
    return Examples(data.test)


def only_test(data: Instances, examples: Examples, kept: Ints) -> Instances:
    """Return the data with some of its test examples."""
    in_test = (data.table["split"].cast(pl.String) == "test").to_numpy()
    rows = ~in_test
    rows[in_test] = np.isin(examples.instances.example_codes, kept)
    return data.rows(rows)


#: Which rows have which features: a matrix, dense or sparse.
Incidence: TypeAlias = sparse.csr_matrix | npt.NDArray[Any]
_LN10 = float(np.log(10.0))
#: What the sentences of a task can share.
_SCOPES: dict[bool, tuple[UnitScope, ...]] = {False: ("hypothesis", "premise"), True: ("premise", "choices")}


def shared_texts(examples: Examples) -> list[Ints]:
    """Return the units of independence of the test examples, one array of codes per kind of text that examples share.

    Pairs share a hypothesis or a premise, questions their passage or all of their choices; near copies count as the
    same text. A column that the data names with `--cluster` is one more kind.
    """
    data = examples.instances
    kinds = []
    if data.cluster is not None:
        kinds.append(examples.units("example"))
        examples = Examples(replace(data, cluster=None))
    kinds += [examples.units(scope) for scope in _SCOPES[data.grouped]]
    coded = [np.unique(codes, return_inverse=True)[1].astype(np.int64) for codes in kinds]
    # An empty premise is no text that single texts share.
    return [codes for codes in coded if 1 < int(codes.max(initial=-1)) + 1 < len(codes)]


def versus(members: Incidence, others: Incidence) -> sparse.csr_matrix:
    """Return the contrasts of a mean over the members of one set and a mean over another; examples × sets."""
    means = []
    for matrix in (sparse.csr_matrix(members, dtype=np.float64), sparse.csr_matrix(others, dtype=np.float64)):
        counts = np.maximum(np.asarray(matrix.sum(axis=0)).ravel(), 1.0)
        means.append(matrix @ sparse.diags(1 / counts))
    return sparse.csr_matrix(means[0] - means[1])


def effects_of(
    outcome: npt.ArrayLike, contrasts: Incidence, kinds: Sequence[Ints], *, strata: Ints | Bools | None = None
) -> Floats:
    """Return the design effects of contrasts of an outcome, whose expectation may differ between strata."""
    x = np.asarray(outcome, dtype=np.float64)
    if not kinds or not len(x):
        return np.ones(contrasts.shape[1])
    codes = (
        np.zeros(len(x), np.int64) if strata is None else np.unique(strata, return_inverse=True)[1].ravel()
    )
    means = np.bincount(codes, weights=x) / np.bincount(codes)
    return design_effects(x - means[codes], contrasts, kinds)


def effect_on_mean(
    outcome: Bools | Ints | Floats, kinds: Sequence[Ints], *, strata: Ints | Bools | None = None
) -> float:
    """Return the design effect of the mean of an outcome over all examples."""
    return float(effects_of(outcome, np.ones((len(outcome), 1)), kinds, strata=strata)[0])


def share_interval(hits: Bools, kinds: Sequence[Ints]) -> tuple[float, float, float]:
    """Return the share of examples that are hits with its interval, wider where examples share texts."""
    share = float(hits.mean())
    ends = wilson(int(hits.sum()), len(hits))
    low, high = widened_within(share, *ends, effect_on_mean(hits, kinds), minimum=0.0)
    return share, float(low), float(high)


def share_mean_interval(shares: Floats, kinds: Sequence[Ints]) -> tuple[float, float, float]:
    """Return the mean of a share per example with its interval over examples, wider where they share texts."""
    if not len(shares):
        return float("nan"), float("nan"), float("nan")
    if shares.min() == shares.max() and shares[0] in (0.0, 1.0):  # then Student's interval has no width
        return share_interval(shares == 1.0, kinds)
    mean, low, high = mean_interval(shares)
    codes = [np.unique(of_kind, return_inverse=True)[1].astype(np.int64) for of_kind in kinds]
    low, high = map(float, widened_within(mean, low, high, effect_on_mean(shares, codes), minimum=0.0))
    return mean, low, high


def widened_within(
    value: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    effects: npt.ArrayLike,
    minimum: float = -1.0,
) -> tuple[Floats, Floats]:
    """Return both ends of an interval widened by a design effect, within what the value can be."""
    ends = (np.clip(widened(value, end, effects), minimum, 1.0) for end in (low, high))
    return next(ends), next(ends)


def tested_columns(log10_p: Floats, alpha: float) -> dict[str, pl.Series]:
    """Return p-values of tests made together, their q-values and which are significant; null where not tested."""
    q = q_of(log10_p)
    return {
        "log10_p": nullable(log10_p),
        "q_value": nullable(q),
        "significant": pl.Series(q <= alpha, dtype=pl.Boolean),
    }


def nullable(values: npt.ArrayLike) -> pl.Series:
    """Return numbers as a column, null where they are nan."""
    return pl.Series(np.asarray(values, dtype=np.float64)).fill_nan(None)


def q_of(log10_p: Floats) -> Floats:
    """Return the q-values of base-10 logs of p-values tested together; nan where there was no test."""
    return np.asarray(np.exp(log_q_values(np.asarray(log10_p, dtype=np.float64) * _LN10)))


def for_model(names: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return the cues' names beside the name of a model."""
    return names.select(pl.lit(model).alias("model"), pl.all())


def column(matrix: sparse.csr_matrix, i: int) -> Bools:
    """Return which rows have the i-th feature of a sparse matrix."""
    return np.asarray(matrix[:, [i]].todense()).ravel() > 0
