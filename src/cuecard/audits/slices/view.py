"""What the audit of slices shows: the map of shortcuts by slices, and the strongest slice of each shortcut."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from cuecard.view import Axis, Column, HeatMap, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import count, display_text, percent, plural, points

MOST_ROWS = 60
MOST_SLICES = 20
_COLUMNS = {
    "rule": Column("Shortcut"),
    "slice": Column("Slice"),
    "n": Column("Examples", "count"),
    "accuracy": Column("Accuracy", "percent"),
    **interval_columns(),
    "chance": Column("Chance", "percent", "accuracy of the same guesses by luck", brief=False),
    "excess": Column("Above chance", "points", "accuracy − chance, in points"),
    "rest_excess": Column("Elsewhere", "points", "accuracy − chance on the rest of the data", brief=False),
    "q_value": Column("q", "probability", "adjusted over all shortcuts and slices"),
}
_WORDS = {
    "word": Column("Word"),
    "slice": Column("Slice"),
    "label": Column("Label"),
    "n": Column("Instances", "count"),
    "accuracy": Column("Share", "percent", "share of the label among instances with the word"),
    **interval_columns(),
    "chance": Column("Chance", "percent"),
    "rest_accuracy": Column("Elsewhere", "percent", "the same on the rest of the training set"),
    "rest_n": Column("Instances elsewhere", "count", brief=False),
    "q_value": Column("q", "probability", "adjusted over all words, slices and labels"),
}


def slices_view(outcome: Outcome) -> View:
    """Return the map of shortcuts by slices and the table behind it."""
    summary, table = outcome.summary, outcome.tables["slices"]
    alone = len(summary["columns"]) == 1  # its name stands above the values then, which leaves room for them
    shown = table.with_columns(
        pl.col("rule").str.replace_all("_only", "-only").str.replace_all("_", " "),
        slice=pl.col("value") if alone else pl.format("{} = {}", "column", "value"),
    )
    tests, significant = plural(summary["tests"], "test"), count(summary["significant"])
    names = ", ".join(display_text(name, 40) for name in summary["columns"])
    lead = (
        f"{tests} of {plural(len(summary['rules']), 'shortcut')} on the values of {names}: {significant} differ "
        f"from chance (q ≤ {summary['alpha']:g})."
    )
    strongest = [
        KeyFigure(
            f"{row['rule'].replace('_', ' ')} where {row['column']} = {row['value']}",
            percent(row["accuracy"]),
            f"chance {percent(row['chance'])}",
        )
        for row in summary["strongest"][:3]
        if row["significant"]
    ]
    columns = _COLUMNS | ({"slice": Column(names)} if alone else {})
    return View(
        lead=[lead],
        figures=[KeyFigure("significant", significant, f"of {tests}"), *strongest],
        charts=[_excess_map(table, summary["alpha"])],
        tables=[
            Table("Shortcuts by slice", "slices", columns, data=shown, most=MOST_ROWS, searchable=True),
            *_words(outcome.tables, summary["alpha"]),
        ],
    )


def _words(tables: Mapping[str, pl.DataFrame], alpha: float) -> Iterator[Table]:
    """Yield the table of words that predict a label on a slice alone, where there are any."""
    if "slice_words" not in tables:
        return
    words = tables["slice_words"].filter(pl.col("q_value") <= alpha)
    if words.height:
        words = words.with_columns(slice=pl.format("{} = {}", "column", "value"))
        yield Table("Words by slice", "slice_words", _WORDS, data=words, most=MOST_ROWS, searchable=True)


def _excess_map(table: pl.DataFrame, alpha: float) -> HeatMap:
    """Return a cell for every shortcut and slice: accuracy above (orange) or below chance (blue)."""
    cells = table.with_columns(slice=pl.format("{} = {}", "column", "value"))
    cells = cells.filter(
        pl.col("slice").is_in(cells["slice"].unique(maintain_order=True).head(MOST_SLICES).implode())
    )
    rows = cells.rows(named=True)
    cells = cells.with_columns(
        pl.col("rule").str.replace_all("_", " "),
        slice=pl.Series([display_text(row["slice"], 40) for row in rows], dtype=pl.String),
        text=pl.Series([points(row["excess"]) for row in rows], dtype=pl.String),
        faint=pl.col("q_value") > alpha,
    )
    return HeatMap(
        title="Rules by slice",
        data=cells,
        x="rule",
        y="slice",
        value=Axis("excess", kind="points"),
        middle=0.0,
        text="text",
        faint="faint",
        tooltip={
            "accuracy": Column("accuracy", "percent"),
            "low": Column("CI low", "percent"),
            "high": Column("CI high", "percent"),
            "chance": Column("chance", "percent"),
            "n": Column("examples", "count"),
            "q_value": Column("q-value", "probability"),
        },
        alt="Accuracy of every content-blind rule minus chance, on every slice.",
        caption="Points above (orange) or below chance (blue); pale cells do not differ significantly from chance.",
        name="excess",
    )
