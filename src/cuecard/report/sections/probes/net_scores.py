"""Scores net of the leak: every model in three ways, with ranks, and suspect labels."""

from __future__ import annotations

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, SectionView, TableView, drawn

_COLUMNS = {
    "model": Column("Model"),
    "accuracy": Column("As it stands", "percent"),
    "neutral": Column("Leak-neutral", "percent", "under weights at which no shortcut is above chance"),
    "neutral_low": Column("CI low", "percent", brief=False),
    "neutral_high": Column("CI high", "percent", brief=False),
    "unsolved": Column("Unsolved", "percent", "on examples that no shortcut solves"),
    "unsolved_low": Column("CI low", "percent", brief=False),
    "unsolved_high": Column("CI high", "percent", brief=False),
    "accuracy_rank": Column("Rank", "count"),
    "neutral_rank": Column("Net rank", "count"),
    "neutral_rank_change_low": Column("Change CI low", "count", brief=False),
    "neutral_rank_change_high": Column("Change CI high", "count", brief=False),
}
_SUSPECT = {
    "example_id": Column("Example"),
    "key": Column("Key"),
    "answer": Column("Strong models say"),
    "agreed": Column("Agree", "percent", "of the models above the median"),
    "discrimination": Column(
        "Discrimination", "decimal", "of the key; below 0: abler models are more often wrong"
    ),
    "as_key": Column("As key", "decimal", "discrimination if the other answer were the key"),
}


@SECTION_VIEWS.register("net_scores")
def net_scores(card: Card, section: Section) -> SectionView:
    """Return every model's scores with one chart, and the labels to look at."""
    del card
    summary, table = section.summary, section["net_scores"]
    working = ", ".join(name.replace("_", " ") for name in summary["working"])
    lead = [
        f"Shortcuts above chance: {working}; they solve {wording.count(summary['solved'])} of "
        f"{wording.plural(summary['n'], 'test example')}."
        if working
        else "No shortcut is above chance: all scores stay as they are."
    ]
    lead += [
        f"{model}: {wording.fine(part['value'])} bits beyond {part['beyond']} (95 % CI {wording.fine(part['low'])} to "
        f"{wording.fine(part['high'])})."
        for model, part in summary["beyond"].items()
    ]
    chart = ChartView(
        "Scores net of the leak",
        drawn("probes.net_scores", "scores", summary["models"]),
        alt="Accuracy of every model as it stands, under leak-neutral weights, and where no shortcut works.",
        caption="● accuracy with 95 % CI",
        name="scores",
    )
    shown = {name: column for name, column in _COLUMNS.items() if name in table.columns}
    tables = [TableView.of("Models", "net_scores", table, shown)]
    if "suspect_labels" in section.tables:
        suspects = section["suspect_labels"]
        tables.append(
            TableView.of("Suspect labels", "suspect_labels", suspects, _SUSPECT, most=50, searchable=True)
        )
    return SectionView(lead=lead, charts=[chart], tables=tables)
