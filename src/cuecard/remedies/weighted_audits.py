"""Audits of a train split without and with weights, so that one sees what the weights change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Finding, Measure, Skip
from cuecard.audits import AUDITS
from cuecard.data import Instances
from cuecard.errors import MissingExtraError
from cuecard.remedies.refitted_null import DRAWS, Remake, above_chance, p_values, references
from cuecard.wording import percent

#: Names that stand for every audit, and for none.
ALL, NONE = "all", "none"
WEIGHT = "cuecard_weight"
#: Differences and p-values say again what the shares and scores beside them say.
LEFT_OUT = frozenset({"points", "p"})
#: What an audit draws or tries besides its measures, and that a comparison can do without.
QUICK: dict[str, Any] = {"map": "none", "sweep": False, "learning_curve": False}
SCHEMA = {
    "audit": pl.String,
    "measure": pl.String,
    "label": pl.String,
    "unit": pl.String,
    "worse": pl.String,
    **{
        f"{what}{when}": pl.Float64
        for when in ("_before", "_after")
        for what in ("value", "low", "high", "chance")
    },
    # Under weights made from shuffled labels: the value to expect, and how unlikely the one with these labels is.
    "expected_after": pl.Float64,
    "p_after": pl.Float64,
}
#: A shortcut differs from what shuffled labels lead to if its p-value is at most this.
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class WeightedAudits:
    """The measures of every audit before and after, and the reasons of those that did not apply."""

    table: pl.DataFrame
    skipped: dict[str, str]

    def findings(self, section: str) -> list[Finding]:
        """Return a sentence for every shortcut that was above chance, or is off it under the weights."""
        return [_finding(section, row) for row in self.table.iter_rows(named=True) if _telling(row)]


def chosen_audits(names: Sequence[str]) -> tuple[str, ...]:
    """Return the audits to repeat after checking their names; "all" is every one, "none" is none."""
    for name in names:
        if name not in (ALL, NONE):
            AUDITS.get(name)
    return tuple(name for name in AUDITS.names() if ALL in names or name in names)


def audits_before_and_after(
    train: Instances,
    weights: npt.NDArray[np.float64],
    names: Sequence[str],
    *,
    remake: Remake | None = None,
    shuffles: int = DRAWS,
    **options: Any,
) -> WeightedAudits:
    """Return what audits say about a train split with equal weights and with the weights of its examples.

    `remake` makes weights of the same kind from other labels: with it, shares are compared with what they are when
    labels say nothing, `shuffles` times (see `refitted_null`). Without it, the weights are taken as made from other
    rows. `options` go to every audit that has a parameter of that name.
    """
    rows: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for name in names:
        kind: Any = AUDITS.get(name)
        parameters = {field.name for field in fields(kind)}
        if train.task not in kind.tasks:
            skipped[name] = f"it is not for {train.task} data"
            continue
        if "weights" not in parameters:
            skipped[name] = "it does not support weights"
            continue
        chosen = {key: value for key, value in (QUICK | options).items() if key in parameters}
        audit = partial(_measures, kind(**chosen, weights=WEIGHT))
        try:
            before = kind(**chosen).run(train).measures
            later = {measure.name: measure for measure in audit(train, weights)}
            expected = (
                references(train, remake, audit, draws=shuffles, seed=options.get("seed", 0))
                if remake is not None
                and shuffles > 1
                and any(above_chance(measure) is not None for measure in later.values())
                else {}
            )
        except (Skip, MissingExtraError) as reason:
            skipped[name] = str(reason)
            continue
        against = p_values(later, expected)
        rows += [
            {"audit": name, "measure": m.name, "label": m.label, "unit": m.unit, "worse": m.worse}
            | _numbers(m, "_before")
            | _numbers(later[m.name], "_after")
            | dict(zip(("expected_after", "p_after"), against.get(m.name, (None, None)), strict=True))
            for m in before
            if m.name in later and _worth_comparing(m)
        ]
    return WeightedAudits(pl.DataFrame(rows, schema=SCHEMA), skipped)


def _measures(audit: Any, train: Instances, weights: npt.NDArray[np.float64]) -> Sequence[Measure]:
    """Return the measures of an audit under weights of the examples."""
    measures: Sequence[Measure] = audit.run(
        train.with_columns(**{WEIGHT: pl.Series(weights[train.example_codes])})
    ).measures
    return measures


def _worth_comparing(measure: Measure) -> bool:
    """Return whether a measure may change with weights and is not said by another one; sizes stay as they are."""
    size = measure.unit == "count" and measure.worse == "neither"
    return not size and measure.unit not in LEFT_OUT


def _numbers(measure: Measure, when: str) -> dict[str, float | None]:
    return {f"{what}{when}": getattr(measure, what) for what in ("value", "low", "high", "chance")}


def _telling(row: Mapping[str, Any]) -> bool:
    """Return whether a shortcut was above chance, or is off what its weights lead to without a leak."""
    needed = ("low_before", "chance_before", "low_after", "high_after", "chance_after")
    if row["unit"] != "share" or row["worse"] != "higher" or any(row[name] is None for name in needed):
        return False
    above = row["low_before"] > row["chance_before"]
    if row["p_after"] is not None:
        return bool(above or row["p_after"] <= ALPHA)
    return bool(above or not row["low_after"] <= row["chance_after"] <= row["high_after"])


def _finding(section: str, row: Mapping[str, Any]) -> Finding:
    label = row["label"]
    text = (
        f"{label[0].upper()}{label[1:]} is {percent(row['value_before'])} with equal weights (chance "
        f"{percent(row['chance_before'])}) and {percent(row['value_after'])} with these weights (95 % CI "
        f"{percent(row['low_after'])} to {percent(row['high_after'])}, chance {percent(row['chance_after'])})."
    )
    expected, p = row["expected_after"], row["p_after"]
    if p is not None:
        differs = "differs significantly" if p <= ALPHA else "does not differ significantly"
        text += (
            f" With weights of this kind made from shuffled labels, it is {percent(expected)}; the value {differs} "
            f"(p = {p:.2g})."
        )
    elif row["high_after"] < row["chance_after"]:
        text += (
            " Weights that balance a dataset exactly can reduce it below chance: what predicts the label in some folds "
            "predicts the opposite in the others."
        )
    return Finding(
        section,
        "info",
        f"{label[0].upper()}{label[1:]} after reweighting",
        text,
        row["value_after"],
        row["low_after"],
        row["high_after"],
        row["chance_after"],
        key=row["measure"],
    )
