"""The numbers of several cards side by side, as the correlation figures of the papers need them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from cuecard.card.card import Card

#: Baselines that see one text only, and what they see.
CONDITIONS = {"hypothesis_only": "hypothesis", "premise_only": "premise", "choices_only": "choices"}

#: Columns of the comparison: rates are fractions, PECO scores are percent.
COLUMNS: dict[str, Any] = {
    "name": pl.String,
    "condition": pl.String,
    "psc": pl.Float64,
    "ssc": pl.Float64,
    "majority": pl.Float64,
    "delta_maj": pl.Float64,
    "recovered": pl.Float64,
    "nba": pl.Float64,
    "nbr": pl.Float64,
    "nbr_released": pl.Float64,
    "tra": pl.Float64,
    "peco": pl.Float64,
    "peco_released": pl.Float64,
    "peco_null": pl.Float64,
    "peco_excess": pl.Float64,
    "peco_p": pl.Float64,
}


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation with its interval, and the least-squares line."""

    n: int
    r: float
    low: float
    high: float
    slope: float
    intercept: float


def comparison_table(cards: Iterable[Card]) -> pl.DataFrame:
    """Return one row per card and single-text condition with whatever the cards know.

    `psc` and `ssc` are the accuracies with the full and with one text, `delta_maj` = ssc − majority, `recovered` =
    ssc / psc (the paper's %R); they are those of a trained learner (`audit --learner`) where the card has one.
    What a card lacks is missing, not zero.
    """
    rows: list[dict[str, Any]] = []
    for card in cards:
        shared = {"name": card.dataset.name, **_clusters(card), **_probes(card)}
        baselines = _baselines(card)
        psc, majority = baselines.get("full"), baselines.get("majority")
        seen: list[tuple[str, float | None]] = [
            (CONDITIONS[name], value) for name, value in baselines.items() if name in CONDITIONS
        ]
        learner = _learner(card)
        if learner is not None:  # agreement is that of its two conditions, so accuracies must be its own, too
            psc, seen = learner["psc"]["accuracy"], [(learner["condition"], learner["ssc"]["accuracy"])]
        clustered = card.sections["clusters"].summary.get("scope") if "clusters" in card.sections else None
        for condition, ssc in seen or [(clustered or "hypothesis", None)]:
            rows.append(
                {
                    **shared,
                    "condition": condition,
                    "psc": psc,
                    "ssc": ssc,
                    "majority": majority,
                    "delta_maj": None if ssc is None or majority is None else ssc - majority,
                    "recovered": None if ssc is None or not psc else ssc / psc,
                }
            )
    return pl.DataFrame([{name: row.get(name) for name in COLUMNS} for row in rows], schema=COLUMNS)


def correlate(table: pl.DataFrame, x: str, y: str, *, level: float = 0.95) -> Correlation | None:
    """Return the correlation of two columns over the rows that have both, or None for fewer than three."""
    both = table.select(x, y).drop_nulls()
    if both.height < 3 or both[x].n_unique() < 2 or both[y].n_unique() < 2:
        return None
    a, b = both[x].to_numpy(), both[y].to_numpy()
    r = float(np.corrcoef(a, b)[0, 1])
    slope, intercept = (float(value) for value in np.polyfit(a, b, 1))
    low, high = -1.0, 1.0
    if both.height > 3 and abs(r) < 1:
        half = float(ndtri((1 + level) / 2)) / math.sqrt(both.height - 3)  # Fisher's transformation
        low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return Correlation(both.height, r, low, high, slope, intercept)


def _baselines(card: Card) -> dict[str, float]:
    section = card.sections.get("partial_input")
    if section is None or section.status != "done":
        return {}
    listed: list[Mapping[str, Any]] = section.summary.get("baselines", [])
    return {str(row["name"]): float(row["accuracy"]) for row in listed if row.get("accuracy") is not None}


def _learner(card: Card) -> Mapping[str, Any] | None:
    """Return the first trained learner of the partial-input section, if one was asked."""
    section = card.sections.get("partial_input")
    if section is None or section.status != "done" or not section.summary.get("learners"):
        return None
    first: Mapping[str, Any] = section.summary["learners"][0]
    return first


def _clusters(card: Card) -> dict[str, float]:
    section = card.sections.get("clusters")
    if section is None or section.status != "done":
        return {}
    summary = section.summary
    return {
        "peco": summary["peco_exact_l2"],
        "peco_released": summary["peco_released_l2"],
        "peco_null": summary["null_mean"],
        "peco_excess": summary["excess"],
        "peco_p": summary["p_value"],
    }


def _probes(card: Card) -> dict[str, float]:
    """Return agreement and saliency numbers, in whichever section of the card they stand."""
    found: dict[str, float] = {}
    for section in card.sections.values():
        for name in ("nba", "nbr", "nbr_released", "tra"):
            value = section.summary.get(name)
            if section.status == "done" and isinstance(value, (int, float)):
                found.setdefault(name, float(value))
    return found
