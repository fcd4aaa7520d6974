"""The numbers of several cards side by side, as the correlation figures of the papers need them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from cuecard.audits.clusters import audit as clusters
from cuecard.audits.partial_input import measures as inputs
from cuecard.card.card import Card

#: Baselines that see one text only, and what they see.
CONDITIONS = {"hypothesis_only": "hypothesis", "premise_only": "premise", "choices_only": "choices"}

#: Columns that measures of clusters, and of a trained learner, fill.
_CLUSTERS = {
    "peco": clusters.PECO.named(clusters.NAME),
    "peco_released": clusters.RELEASED.named(clusters.NAME),
    "peco_excess": clusters.EXCESS.named(clusters.NAME),
    "cluster_bits": clusters.INFORMATION.named(clusters.NAME),
}
_AGREEMENT = {"nba": inputs.NBA, "nbr": inputs.NBR, "nbr_released": inputs.NBR_RELEASED, "tra": inputs.TRA}

#: Columns of the comparison: rates are fractions, PECO scores are percent, bits are bits.
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
    "cluster_bits": pl.Float64,
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


def comparison_table(cards: Iterable[Card], names: Sequence[str] | None = None) -> pl.DataFrame:
    """Return one row per card and single-text condition with whatever the cards know.

    `names` are those of the rows, by default the datasets', which several cards may share.

    `psc` and `ssc` are the accuracies with the full and with one text, `delta_maj` = ssc − majority, `recovered` =
    ssc / psc (the paper's %R); they are those of a trained learner (`audit --learner`) where the card has one.
    What a card lacks is missing, not zero.
    """
    rows: list[dict[str, Any]] = []
    for i, card in enumerate(cards):
        values = {m.name: m.value for m in card.all_measures()}
        shared = {"name": card.dataset.name if names is None else names[i]} | {
            column: values[name] for column, name in _CLUSTERS.items() if name in values
        }
        shared["peco_null"] = next(
            (m.chance for m in card.all_measures() if m.name == _CLUSTERS["peco"]), None
        )
        if (log10_p := values.get(clusters.P_VALUE.named(clusters.NAME))) is not None:
            shared["peco_p"] = 10**log10_p
        learner = _first_learner(values)
        psc, majority = (
            values.get(inputs.REFERENCE.named(inputs.NAME, reference=name)) for name in ("full", "majority")
        )
        seen: list[tuple[str, float | None]] = [
            (condition, values[name])
            for shortcut, condition in CONDITIONS.items()
            if (name := inputs.ACCURACY.named(inputs.NAME, shortcut=shortcut)) in values
        ]
        if learner is not None:  # agreement is that of its two conditions, so accuracies must be its own, too
            model, shortcut = learner
            psc = values[inputs.LEARNER_FULL.named(inputs.NAME, model=model)]
            partial = inputs.LEARNER.named(inputs.NAME, model=model, shortcut=shortcut)
            seen = [(CONDITIONS[shortcut], values[partial])]
            shared |= {
                column: values.get(kind.named(inputs.NAME, model=model))
                for column, kind in _AGREEMENT.items()
            }
        section = card.sections.get(clusters.NAME)
        clustered = section.parameters.get("scope") if section else None
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
    from scipy.stats import linregress, pearsonr

    correlation = pearsonr(a, b)
    low, high = -1.0, 1.0
    if abs(correlation.statistic) < 1:
        low, high = (float(end) for end in correlation.confidence_interval(level))  # Fisher's transformation
    line = linregress(a, b)
    return Correlation(
        both.height, float(correlation.statistic), low, high, float(line.slope), float(line.intercept)
    )


def _first_learner(values: Mapping[str, float | None]) -> tuple[str, str] | None:
    """Return the first trained learner of the partial-input audit and what its partial condition is called."""
    name = inputs.LEARNER.named(re.escape(inputs.NAME), model="(.+)", shortcut=f"({'|'.join(CONDITIONS)})")
    pattern = re.compile(name)
    matches = (pattern.fullmatch(name) for name in values)
    return next(((match[1], match[2]) for match in matches if match), None)
