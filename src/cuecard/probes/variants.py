"""The same model asked in several ways: with parts of the input, and with options in several orders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cuecard.probes.predictions import Predictions
from cuecard.probes.prompts.inputs import FULL

__all__ = ["InputParts", "Orders", "Variants", "told_apart"]

#: The predictions of a model by what it was shown of the input.
InputParts: TypeAlias = Mapping[str, Predictions]
#: The predictions of a model with the same input, one per order of the options.
Orders: TypeAlias = Sequence[Predictions]
#: How names end that say what a model was shown: "gpt-choices", "linear-hypothesis", "bert premise only".
_NAMED = re.compile(
    r"[-_ ](choices|question|hypothesis|premise|no-context|blank|swapped|open)(?:[-_ ]only)?$", re.IGNORECASE
)


@dataclass(frozen=True, eq=False)
class Variants:
    """Predictions told apart: of models as they are, and by model those with other inputs and orders."""

    models: list[Predictions]
    parts: dict[str, InputParts]
    orders: dict[str, Orders]


def told_apart(predictions: Sequence[Predictions]) -> Variants:
    """Return the predictions of models as they are, and beside them what the same models answered otherwise.

    Several logs of a model are orders of it if they show options in different places.
    """
    orders: dict[tuple[str, str], list[Predictions]] = {}
    for one in predictions:
        if one.shown is not None:
            orders.setdefault((one.model, one.partial_input), []).append(one)
    several = {key: kept for key, ways in orders.items() if len(kept := _different(ways)) > 1}
    further = {id(one) for key in several for one in orders[key][1:]}
    plain = [one for one in predictions if id(one) not in further]
    parts: dict[str, dict[str, Predictions]] = {}
    for one in plain:
        base, name = _base(one)
        parts.setdefault(base, {}).setdefault(name, one)
    joined = {base: ways for base, ways in parts.items() if set(ways) - {FULL}}
    # What `ask` withheld is no further model to probe, unless there is nothing else.
    asked_in_full = any(not one.partial_input for one in plain)
    models = [
        one
        if not (one.prompt and one.partial_input)
        else replace(one, model=f"{one.model} · {one.partial_input}")
        for one in plain
        if not (asked_in_full and one.prompt and one.partial_input)
    ]
    named = {(f"{model} · {part}" if part else model): ways for (model, part), ways in several.items()}
    return Variants(models, dict(joined), dict(named))


def _base(one: Predictions) -> tuple[str, str]:
    """Return what a model is called whatever it was shown, and what it was shown."""
    named = _NAMED.search(one.model)
    if one.prompt or not named:
        return one.model, one.partial_input or FULL
    return one.model[: named.start()], one.partial_input or named.group(1).lower()


def _different(ways: Sequence[Predictions]) -> list[Predictions]:
    """Return those with options in places where none before has them."""
    kept: dict[bytes, Predictions] = {}
    for one in ways:
        if one.shown is not None:
            kept.setdefault(one.shown.tobytes(), one)
    return list(kept.values())
