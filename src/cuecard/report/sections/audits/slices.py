"""Where in the data a shortcut works: rules by slices, with the strongest slice of each rule."""

from __future__ import annotations

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView, drawn
from cuecard.wording import display_text

MOST_ROWS = 60
_COLUMNS = {
    "rule": Column("Shortcut"),
    "slice": Column("Slice"),
    "n": Column("Examples", "count"),
    "accuracy": Column("Accuracy", "percent"),
    "low": Column("CI low", "percent", "lower end of the 95 % CI", brief=False),
    "high": Column("CI high", "percent", "upper end of the 95 % CI", brief=False),
    "chance": Column("Chance", "percent", "accuracy of the same guesses by luck", brief=False),
    "excess": Column("Above chance", "points", "accuracy − chance, in points"),
    "rest_excess": Column("Elsewhere", "points", "accuracy − chance on the rest of the data", brief=False),
    "q_value": Column("q", "probability", "adjusted over all shortcuts and slices"),
}


@SECTION_VIEWS.register("slices")
def slices(card: Card, section: Section) -> SectionView:
    """Return the map of rules by slices and the table behind it."""
    del card
    summary, table = section.summary, section["slices"]
    alone = len(summary["columns"]) == 1  # its name stands above the values then, which leaves room for them
    shown = table.with_columns(
        pl.col("rule").str.replace_all("_only", "-only").str.replace_all("_", " "),
        slice=pl.col("value") if alone else pl.format("{} = {}", "column", "value"),
    )
    tests, significant = summary["tests"], summary["significant"]
    rules = wording.plural(len(summary["rules"]), "shortcut")
    columns = ", ".join(display_text(name, 40) for name in summary["columns"])
    lead = (
        f"{wording.plural(tests, 'test')} of {rules} on the values of {columns}: {wording.count(significant)} differ "
        f"from chance (q ≤ {summary['alpha']:g})."
    )
    figures = [
        KeyFigure("significant", wording.count(significant), f"of {wording.plural(tests, 'test')}"),
        *(
            KeyFigure(
                f"{row['rule'].replace('_', ' ')} where {row['column']} = {row['value']}",
                wording.percent(row["accuracy"]),
                f"chance {wording.percent(row['chance'])}",
            )
            for row in summary["strongest"][:3]
            if row["significant"]
        ),
    ]
    chart = ChartView(
        "Rules by slice",
        drawn("audits.slices", "excess_map", table, summary["alpha"]),
        alt="Accuracy of every content-blind rule minus chance, on every slice.",
        caption="Points above (orange) or below chance (blue); pale cells do not differ significantly from chance.",
        name="excess",
    )
    shown_columns = _COLUMNS | ({"slice": Column(columns)} if alone else {})
    view = TableView.of("Shortcuts by slice", "slices", shown, shown_columns, most=MOST_ROWS, searchable=True)
    return SectionView(lead=[lead], figures=figures, charts=[chart], tables=[view])
