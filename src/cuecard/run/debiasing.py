"""Reweight the examples of a dataset by a remedy, and put what the weights do on a card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.analysis import Analysis
from cuecard.card.card import Card
from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.remedies import REMEDIES
from cuecard.run.describing import check_labels
from cuecard.run.needs import check_extras, check_inputs
from cuecard.run.runner import Progress, run_analyses
from cuecard.run.selection import check_objects, configured
from cuecard.run.settings import Settings


@dataclass(frozen=True, eq=False)
class Debiased:
    """The weights of the train examples, in their order and with mean one, and the card about them."""

    weights: npt.NDArray[np.float64]
    card: Card


def debias(
    data: Instances,
    method: str | Analysis = "lexical",
    *,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Debiased:
    """Return weights of the train examples that take a shortcut out of a dataset, with a card about them.

    Args:
        data: what `cuecard.load` returned.
        method: "lexical" makes label shares equal with every feature (`cuecard.LexicalWeights`), "leakage" makes the
            pair graph say nothing about the label (`cuecard.NeutralWeighting`); or such an object with its parameters.
        progress: called with the remedy's title; returns a context manager it runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the remedy, such as ``ngrams=2`` or ``min_count=50``.
    """
    remedy = selected_remedy(method, options)
    check_labels(data)
    card = run_analyses(data, [remedy], progress=progress, command=command)
    section = card[remedy.name]
    called = repr(method) if isinstance(method, str) else remedy.name
    if section.status == "skipped":
        raise UsageError(f"The method {called} cannot be used here: {section.reason}.")
    if section.status == "failed":
        raise RuntimeError(f"The method {called} failed: {section.reason}.")
    # Remedies give weights of mean one over train; to scale them again could lift one above their max_weight.
    weights = card.tables["examples"].filter(split="train")["weight"].to_numpy()
    return Debiased(weights, card)


def selected_remedy(
    method: str | Analysis, options: Mapping[str, Any], settings: Settings | None = None
) -> Analysis:
    """Return the remedy with its options, or raise if it or one of them does not exist; no data is read for that."""
    if isinstance(method, str):
        kind = REMEDIES.get(method)
        [remedy] = configured([kind], options, settings, among=[kind])
    else:
        check_objects("method", [method], only=None, skip=(), settings=settings, options=options)
        remedy = method
    check_inputs([remedy], ())
    check_extras([remedy])
    return remedy
