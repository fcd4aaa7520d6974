"""The charts of several cards on one page: who leaks, and what goes together with it (PECO, Figures 1–3 and 5–7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from cuecard.audits.clusters.audit import EXCESS
from cuecard.audits.clusters.audit import NAME as CLUSTERS
from cuecard.audits.clusters.view import HOW_TO_READ
from cuecard.audits.partial_input.measures import NAME as PARTIAL_INPUT
from cuecard.card.card import Card, value_of
from cuecard.errors import InputError
from cuecard.report.charts.cluster_map import maps_side_by_side
from cuecard.report.charts.comparison import (
    FIGURES,
    correlation_chart,
    excess_chart,
    saturation_map,
)
from cuecard.report.comparison.table import comparison_table
from cuecard.report.html.chart_page import write_chart
from cuecard.report.html.chart_path import check_chart_path
from cuecard.view import PointMap
from cuecard.wording import listed

#: A correlation of fewer datasets says nothing.
FEWEST_FOR_A_TREND = 3


def comparison_charts(cards: Sequence[Card]) -> list[Any]:
    """Return every chart that the cards have the numbers for; none where they have none in common."""
    table = comparison_table(cards)
    charts = []
    if table.drop_nulls(["psc", "ssc"]).height:
        charts.append(saturation_map(table).properties(width=860, title="Full input and partial input"))
    for x, y in FIGURES.values():
        if {x, y} <= set(table.columns) and table.drop_nulls([x, y]).height >= FEWEST_FOR_A_TREND:
            charts.append(correlation_chart(table, x, y, identity=x == "sota").properties(width=860))
    names = _names(cards)
    scored = [
        (name, card)
        for name, card in zip(names, cards, strict=True)
        if value_of(card, EXCESS.named(CLUSTERS)) is not None
    ]
    if scored:
        charts.append(excess_chart(scored).properties(width=860))
    mapped = [
        PointMap(
            title=name,
            data=card.tables["cluster_map"],
            clusters=card.tables["clusters"],
            colours=card.dataset.labels,
            alt=HOW_TO_READ,
        )
        for name, card in zip(names, cards, strict=True)
        if "cluster_map" in card.tables
    ]
    if mapped:
        maps = maps_side_by_side(mapped)
        maps.usermeta = alt.Undefined  # a wish about the renderer, which only a whole page can have
        charts.append(maps)
    return charts


def write_comparison_charts(cards: Sequence[Card], path: str | Path) -> Path:
    """Write the charts as one page that opens offline, or as .png or .svg, and return its path."""
    path = check_chart_path(path)
    charts = comparison_charts(cards)
    if not charts:
        raise InputError(
            f"The cards have no partial-input accuracies and no clusters to draw; run the audits {PARTIAL_INPUT} or "
            f"{CLUSTERS}."
        )
    apart = {"color": "independent", "shape": "independent", "size": "independent"}
    page = alt.vconcat(*charts, spacing=40).resolve_scale(**apart)
    return write_chart(page, path, title="Comparison of datasets", note=_note(cards))


def _has(card: Card, name: str) -> bool:
    return name in card.sections and card.sections[name].status == "done"


def _embedding(card: Card) -> str:
    return str(card.sections[CLUSTERS].parameters.get("embed", ""))


def _names(cards: Sequence[Card]) -> list[str]:
    """Return the names of the datasets, with the embedding and then a number where they are the same."""
    names = [card.dataset.name for card in cards]
    for i, card in enumerate(cards):
        if [c.dataset.name for c in cards].count(card.dataset.name) > 1 and _has(card, CLUSTERS):
            names[i] += f", {Path(_embedding(card)).name}"
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]


def _note(cards: Sequence[Card]) -> str:
    """Return how to read the maps, and which charts need an audit that no card has."""
    sentences = []
    if any("cluster_map" in card.tables for card in cards):
        sentences.append(HOW_TO_READ)
    embeddings = {_embedding(card) for card in cards if _has(card, CLUSTERS)}
    if len(embeddings) > 1:
        sentences.append("Scores of different embeddings are not comparable.")
    missing = [
        f"{chart} ({audit})"
        for chart, audit in (
            ("accuracy with full and partial input", PARTIAL_INPUT),
            ("excess of PECO", CLUSTERS),
        )
        if not any(_has(card, audit) for card in cards)
    ]
    if missing:
        sentences.append(f"Not drawn, because no card has the audit: {listed(missing)}.")
    return " ".join(sentences)
