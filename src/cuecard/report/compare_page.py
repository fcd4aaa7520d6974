"""The charts of several cards on one page: who leaks, and what goes together with it (PECO, Figures 1–3 and 5–7)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from cuecard.card.card import Card
from cuecard.errors import InputError
from cuecard.report.chart_page import check_chart_path, write_chart
from cuecard.report.charts.comparison import FIGURES, correlation_chart, maps_side_by_side, saturation_map
from cuecard.report.comparison import comparison_table

#: A correlation of fewer datasets says nothing.
FEWEST_FOR_A_TREND = 3


def comparison_charts(cards: Sequence[Card]) -> list[Any]:
    """Return every chart that the cards have the numbers for; none where they have none in common."""
    table = comparison_table(cards)
    charts = []
    if table.drop_nulls(["psc", "ssc"]).height:
        charts.append(saturation_map(table).properties(width=860, title="Full input against one text"))
    for x, y in FIGURES.values():
        known = {x, y} <= set(table.columns)
        if known and table.drop_nulls([x, y]).height >= FEWEST_FOR_A_TREND:
            charts.append(correlation_chart(table, x, y, identity=x == "sota").properties(width=860))
    mapped = [
        (card.dataset.name, card.tables, card.dataset.labels)
        for card in cards
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
            "The cards have no accuracies with one text and no clusters to draw; audit with partial_input or clusters."
        )
    apart = {"color": "independent", "shape": "independent", "size": "independent"}
    return write_chart(alt.vconcat(*charts, spacing=40).resolve_scale(**apart), path)
