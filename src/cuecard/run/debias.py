"""Weigh the examples of a dataset by a remedy, and put what the weights do on a card."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.analysis import Analysis
from cuecard.card.card import Card
from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.remedies import REMEDIES
from cuecard.run.audit import Progress, assemble, check_labels


@dataclass(frozen=True, eq=False)
class Debiased:
    """The weights of the train examples, in their order and with mean one, and the card about them."""

    weights: npt.NDArray[np.float64]
    card: Card


def configured_remedy(method: str, options: dict[str, Any]) -> Analysis:
    """Return the remedy of that name with its options, or raise if it or one of them does not exist."""
    kind = REMEDIES.get(method)
    known = {field.name: str(field.type) for field in fields(kind)}  # type: ignore[arg-type]
    for name in options:
        if name not in known:
            raise unknown_name(f"option of the method {method!r}", name, list(known))
    # A single name is easily given as it is, and would be read letter by letter.
    given = {
        name: tuple(value.split(",")) if isinstance(value, str) and "tuple[str" in known[name] else value
        for name, value in options.items()
    }
    return kind(**given)


def debias(
    data: Instances,
    method: str = "lexical",
    *,
    progress: Progress | None = None,
    command: str = "",
    **options: Any,
) -> Debiased:
    """Return weights of the train examples that take a shortcut out of a dataset, with a card about them.

    Args:
        data: what `cuecard.load` returned.
        method: "lexical" makes label shares equal with every feature (`cuecard.remedies.LexicalWeights`), "leakage"
            makes the pair graph say nothing about the label (`cuecard.remedies.NeutralWeighting`).
        progress: called with the remedy's title; returns a context manager it runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the remedy, such as ``ngrams=2`` or ``min_count=50``.
    """
    remedy = configured_remedy(method, options)
    check_labels(data)
    card = assemble(data, [remedy], progress=progress, command=command)
    section = card[remedy.name]
    if section.status == "skipped":
        raise UsageError(f"The method {method!r} cannot be used here: {section.reason}.")
    if section.status == "failed":
        raise RuntimeError(f"The method {method!r} failed: {section.reason}.")
    # Remedies give weights of mean one over train; to scale them again could lift one above their max_weight.
    weights = card.tables["examples"].filter(split="train")["weight"].to_numpy()
    return Debiased(weights, card)
