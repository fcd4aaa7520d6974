"""Benchmarks without a training set: one half of the examples has the cues, models are probed on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.probes.examples import check_test
from cuecard.probes.many_predictions import read_many_predictions
from cuecard.probes.predictions import Predictions, PredictionSource
from cuecard.wording import plural

#: Fewer examples than this cannot be halved.
FEWEST = 20
#: What sentences call the half that the cues come from: it is no training set of the models.
CUE_HALF = "the half that the cues come from"


def read_one_file(
    sources: Sequence[tuple[str | None, PredictionSource | Predictions]],
    data: Instances,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
    surplus_ids: bool = False,
    seed: int = 0,
) -> tuple[Instances, list[Predictions], str]:
    """Return a dataset of one file in two halves, the predictions for the second, and a note that says so.

    Predictions are about all examples of the file. Cues that were chosen on the examples on which models are probed
    would look more reliable than they are.
    """
    whole = as_split(data, "test")
    part, models = read_many_predictions(
        sources, whole, columns=columns, labels=labels, surplus_ids=surplus_ids
    )
    n = len(check_test(part))
    if n < FEWEST:
        raise InputError(
            f"{data.name} has no training set, and {plural(n, 'example')} are too few to choose cues on one half of "
            f"them and probe models on the other: needs at least {FEWEST}, or a training set before --test."
        )
    probed = np.zeros(n, dtype=np.bool_)
    probed[np.random.default_rng(seed).permutation(n)[: n // 2]] = True
    in_test = probed[part.example_codes]
    table = part.table.with_columns(
        split=pl.Series(np.where(in_test, "test", "train")).cast(part.table.schema["split"])
    )
    halves = replace(
        part, table=pl.concat([table.filter(~pl.Series(in_test)), table.filter(pl.Series(in_test))])
    )
    note = (
        f"{data.name} has no training set: the cues are those of one half of its examples, drawn at random, and "
        f"models are probed on the other {plural(n // 2, 'example')}."
    )
    return halves, [model.only(np.flatnonzero(probed)) for model in models], note


def as_split(data: Instances, name: str) -> Instances:
    """Return all rows as those of one split."""
    kind = data.table.schema["split"]
    return replace(data, table=data.table.with_columns(split=pl.lit(name).cast(kind)))
