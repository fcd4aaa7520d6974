"""What a corpus contains of a dataset: spans with file and offset; and whether models know its order."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView, drawn
from cuecard.wording import display_text

_COLUMNS = {
    "example_id": Column("Example"),
    "role": Column("Text", brief=False),
    "words": Column("Words", "count", "words in a row that both have"),
    "of_words": Column("Of", "count", "words of the text"),
    "place": Column("File"),
    "offset": Column("Byte", "count", "where the run begins"),
    "span": Column("In the corpus"),
}
_ORDERS = {
    "model": Column("Model"),
    "rank_share": Column(
        "Rank", "percent", "shuffles that are less likely than the published order; 50 % by chance"
    ),
    "shards": Column("Shards", "count"),
    "shuffles": Column("Shuffles", "count"),
    "p_value": Column("p", "probability", "exact, one-sided"),
}


@SECTION_VIEWS.register("overlap")
def overlap(card: Card, section: Section) -> SectionView:
    """Return the share of examples that the corpus contains, and the longest spans."""
    del card
    summary, table = section.summary, section["overlap"]
    lead = (
        f"{wording.plural(summary['texts'], 'text')} of {wording.plural(summary['examples'], 'example')} searched for "
        f"in {wording.plural(summary['files'], 'file')}: {wording.plural(summary['spans'], 'run')} of words in both."
    )
    figures = [
        KeyFigure("examples with a text in the corpus", wording.percent(summary["share"]["value"])),
        KeyFigure("with all words of a text", wording.percent(summary["whole"]["value"])),
    ]
    shown = table.with_columns(
        place=pl.Series([Path(name).name for name in table["file"]], dtype=pl.String),
        span=pl.Series([display_text(span, 160) for span in table["span"]], dtype=pl.String),
    )
    charts = []
    if table.height:
        charts.append(
            ChartView(
                "Length of shared runs",
                drawn("audits.overlap", "run_lengths", table),
                alt="Histogram of the number of words in a row that dataset and corpus share.",
                caption="Every run was verified word by word; case, punctuation and white space do not count.",
                name="runs",
            )
        )
    notes = []
    if summary["too_short"]:
        fewest = section.parameters.get("shortest", 5)
        notes.append(
            f"{wording.plural(summary['too_short'], 'text')} with fewer than {fewest} words (--shortest) were not "
            "searched for."
        )
    view = TableView.of("Shared runs", "overlap", shown, _COLUMNS, most=60, searchable=True)
    return SectionView(lead=[lead], figures=figures, charts=charts, tables=[view], notes=notes)


@SECTION_VIEWS.register("published_order")
def published_order(card: Card, section: Section) -> SectionView:
    """Return the rank of the published order for every model."""
    del card
    lead = "A model that has not seen the dataset finds its published order as likely as shuffled ones."
    view = TableView.of("Models", "published_order", section["published_order"], _ORDERS)
    return SectionView(lead=[lead], tables=[view])
