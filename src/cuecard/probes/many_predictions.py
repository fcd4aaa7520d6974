"""Predictions of several models, on the test examples that all of them are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import InputError
from cuecard.probes.examples import check_test, only_test
from cuecard.probes.formats.settling import Given
from cuecard.probes.predictions import (
    Predictions,
    PredictionSource,
    given_predictions,
    named_parts,
    settled_predictions,
)
from cuecard.stats.arrays import Ints


def read_many_predictions(
    sources: Sequence[tuple[str | None, PredictionSource | Predictions]],
    data: Instances,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
) -> tuple[Instances, list[Predictions]]:
    """Return the predictions of several sources, and the data with the test examples that all of them are about.

    Answers to prompts may be about a part of the test split: those that were asked. Anything else must be about all
    of it, and is narrowed to that part.

    Args:
        sources: the name of the model, if it has one, and what `read_predictions` takes, or `Predictions`.
        data: what `cuecard.load` returned.
        columns: as in `read_predictions`.
        labels: as in `read_predictions`.
    """
    examples = check_test(data)
    parts: list[tuple[str, Given]] = []
    models: list[Predictions | None] = []
    for name, source in sources:
        if isinstance(source, Predictions):
            models.append(source)
            continue
        given = named_parts(given_predictions(source, data, columns or {}), name)
        parts += given
        models += [None] * len(given)
    kept = _asked_about(examples, [given.ids for _, given in parts if given.prompt and given.ids is not None])
    part = data if kept is None else only_test(data, examples, kept)
    of_part = examples if kept is None else check_test(part)

    def settled(name: str, given: Given) -> Predictions:
        if given.prompt and given.ids is not None:
            return settled_predictions(given.about(of_part.ids), name, part, of_part, labels or {})
        whole = settled_predictions(given, name, data, examples, labels or {})
        return whole if kept is None else whole.only(kept)

    read = iter([settled(name, given) for name, given in parts])
    in_order = [
        next(read) if model is None else model if kept is None else model.only(kept) for model in models
    ]
    return part, in_order


def _asked_about(examples: Examples, asked: Sequence[pl.Series]) -> Ints | None:
    """Return the test examples that every model was asked about; None if these are all of them."""
    ids = examples.ids.cast(pl.String)
    everywhere = np.ones(len(examples), dtype=np.bool_)
    for of_model in asked:
        everywhere &= ids.is_in(of_model.cast(pl.String).implode()).to_numpy()
    if everywhere.all():
        return None
    if not everywhere.any():
        raise InputError(
            "The files of answers share no test example: ask every model about the same examples, with the same "
            "--stress, --sample and --seed."
        )
    return np.flatnonzero(everywhere)
