"""The test examples that predictions are about, and which of them share texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.data import Examples, Instances, Task
from cuecard.data.units import UnitScope
from cuecard.errors import InputError
from cuecard.stats import log_q_values
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.models.design_effect import design_effects

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


def versus(first: Any, second: Any) -> sparse.csr_matrix:
    """Return the contrasts of a mean over the members of one set and a mean over another; examples × sets."""
    means = []
    for members in (first, second):
        matrix = sparse.csr_matrix(members, dtype=np.float64)
        counts = np.maximum(np.asarray(matrix.sum(axis=0)).ravel(), 1.0)
        means.append(matrix @ sparse.diags(1 / counts))
    return sparse.csr_matrix(means[0] - means[1])


def effects_of(outcome: Any, contrasts: Any, kinds: Sequence[Ints], *, strata: Any = None) -> Floats:
    """Return the design effects of contrasts of an outcome, whose expectation may differ between strata."""
    if not kinds or not len(outcome):
        return np.ones(contrasts.shape[1])
    x = np.asarray(outcome, dtype=np.float64)
    codes = (
        np.zeros(len(x), np.int64) if strata is None else np.unique(strata, return_inverse=True)[1].ravel()
    )
    means = np.bincount(codes, weights=x) / np.bincount(codes)
    return design_effects(x - means[codes], contrasts, kinds)


def effect_on_mean(outcome: Any, kinds: Sequence[Ints], *, strata: Any = None) -> float:
    """Return the design effect of the mean of an outcome over all examples."""
    return float(effects_of(outcome, np.ones((len(outcome), 1)), kinds, strata=strata)[0])


LN10 = float(np.log(10.0))


def whose_choice(task: Task, label: str) -> str:
    """Return what it means for the choices with a cue to have a label: “right choice has the cue”."""
    key = "chosen answer" if task == "preference" else "right choice"
    return f"{key} has the cue" if label in ("right", "chosen") else f"{key} does not have the cue"


def q_of(log10_p: Any) -> Any:
    """Return the q-values of base-10 logs of p-values tested together; nan where there was no test."""
    return np.exp(log_q_values(np.asarray(log10_p, dtype=np.float64) * LN10))


def for_model(names: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return the cues' names beside the name of a model."""
    return names.select(pl.lit(model).alias("model"), pl.all())
