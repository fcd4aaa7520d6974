"""Predictions of several models, on the test examples that all of them are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import InputError
from cuecard.probes.examples import check_test, only_test
from cuecard.probes.formats.settling import Unmatched
from cuecard.probes.predictions import (
    Predictions,
    PredictionSource,
    named_parts,
    settled_predictions,
    unmatched_predictions,
)
from cuecard.stats.arrays import Ints
from cuecard.wording import plural


def read_many_predictions(
    sources: Sequence[tuple[str | None, PredictionSource | Predictions]],
    data: Instances,
    *,
    columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
    surplus_ids: bool = False,
) -> tuple[Instances, list[Predictions]]:
    """Return the predictions of several sources, and the data with the test examples that all of them are about.

    Answers to prompts may be about a part of the test split: those that were asked. Anything else must be about all
    of it, and is narrowed to that part.

    Args:
        sources: the name of the model, if it has one, and what `read_predictions` takes, or `Predictions`.
        data: what `cuecard.load` returned.
        columns: as in `read_predictions`.
        labels: as in `read_predictions`.
        surplus_ids: leave out predictions whose id no test example has, instead of raising an error.
    """
    examples = check_test(data)
    parts: list[tuple[str, Unmatched]] = []
    models: list[Predictions | None] = []
    for name, source in sources:
        if isinstance(source, Predictions):
            models.append(source)
            continue
        unmatched = named_parts(unmatched_predictions(source, data, columns or {}), name)
        if surplus_ids:
            unmatched = [(model, _without_surplus(one, examples)) for model, one in unmatched]
        parts += unmatched
        models += [None] * len(unmatched)
    kept = _asked_about(
        examples, [unmatched.ids for _, unmatched in parts if unmatched.prompt and unmatched.ids is not None]
    )
    part = data if kept is None else only_test(data, examples, kept)
    of_part = examples if kept is None else check_test(part)

    def settled(name: str, unmatched: Unmatched) -> Predictions:
        if unmatched.prompt and unmatched.ids is not None:
            return settled_predictions(unmatched.about(of_part.ids), name, part, of_part, labels or {})
        whole = settled_predictions(unmatched, name, data, examples, labels or {})
        return whole if kept is None else whole.only(kept)

    read = iter([settled(name, unmatched) for name, unmatched in parts])
    in_order = [
        next(read) if model is None else model if kept is None else model.only(kept) for model in models
    ]
    return part, in_order


def _without_surplus(unmatched: Unmatched, examples: Examples) -> Unmatched:
    """Return the predictions for test examples, with a note on how many others there are."""
    if unmatched.ids is None:
        return unmatched
    kept = unmatched.about(examples.ids)
    surplus = unmatched.height - kept.height
    note = f"{plural(surplus, 'prediction')} with an id that no test example has are not used."
    return replace(kept, notes=(*kept.notes, note)) if surplus else unmatched


def _asked_about(examples: Examples, ids_by_model: Sequence[pl.Series]) -> Ints | None:
    """Return the test examples that every model was asked about; None if these are all of them."""
    ids = examples.ids.cast(pl.String)
    everywhere = np.ones(len(examples), dtype=np.bool_)
    for of_model in ids_by_model:
        everywhere &= ids.is_in(of_model.cast(pl.String).implode()).to_numpy()
    if everywhere.all():
        return None
    if not everywhere.any():
        raise InputError(
            "The files of answers share no test example: ask every model about the same examples, with the same "
            "--stress, --sample and --seed."
        )
    return np.flatnonzero(everywhere)
