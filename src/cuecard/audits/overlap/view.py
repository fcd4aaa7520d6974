"""What overlap shows: the spans that a corpus has, with file and offset; and whether models know the order."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cuecard.view import Axis, Column, Histogram, KeyFigure, Outcome, Table, View
from cuecard.wording import display_text, percent, plural

#: Longer runs of words are counted together.
LONGEST = 60
_COLUMNS = {
    "example_id": Column("Example"),
    "role": Column("Text", brief=False),
    "words": Column("Words", "count", "words in a row that both have"),
    "of_words": Column("Of", "count", "words of the text"),
    "place": Column("File"),
    "offset": Column("Byte", "count", "where the run begins"),
    "span": Column("In the corpus"),
}

#: The rank of the published order for every model.
ORDER_VIEW = View(
    lead=("A model that has not seen the dataset finds its published order as likely as shuffled ones.",),
    tables=(
        Table(
            "Models",
            "published_order",
            {
                "model": Column("Model"),
                "rank_share": Column(
                    "Rank",
                    "percent",
                    "shuffles that are less likely than the published order; 50 % by chance",
                ),
                "shards": Column("Shards", "count"),
                "shuffles": Column("Shuffles", "count"),
                "p_value": Column("p", "probability", "exact, one-sided"),
            },
        ),
    ),
)


def overlap_view(outcome: Outcome) -> View:
    """Return the share of examples that the corpus contains, and the longest spans."""
    summary, table = outcome.summary, outcome.tables["overlap"]
    lead = (
        f"{plural(summary['texts'], 'text')} of {plural(summary['examples'], 'example')} searched for "
        f"in {plural(summary['files'], 'file')}: {plural(summary['spans'], 'run')} of words in both."
    )
    notes = []
    if summary["too_short"]:
        notes.append(
            f"{plural(summary['too_short'], 'text')} with fewer than {outcome.parameters.get('shortest', 5)} words "
            "(--shortest) were not searched for."
        )
    shown = table.with_columns(
        place=pl.Series([Path(name).name for name in table["file"]], dtype=pl.String),
        span=pl.Series([display_text(span, 160) for span in table["span"]], dtype=pl.String),
    )
    return View(
        lead=[lead],
        figures=[
            KeyFigure("examples with a text in the corpus", percent(summary["share"]["value"])),
            KeyFigure("with all words of a text", percent(summary["whole"]["value"])),
        ],
        charts=[_run_lengths(table)] if table.height else [],
        tables=[Table("Shared runs", "overlap", _COLUMNS, data=shown, most=60, searchable=True)],
        notes=notes,
    )


def _run_lengths(table: pl.DataFrame) -> Histogram:
    """Return how many runs have how many words, those of whole texts beside parts of texts."""
    width = 2 if (table["words"] > 30).any() else 1
    words = pl.min_horizontal("words", pl.lit(LONGEST)) // width * width
    whole = pl.when(pl.col("words") >= pl.col("of_words"))
    runs = (
        table.select(low=words, kind=whole.then(pl.lit("whole text")).otherwise(pl.lit("part of a text")))
        .group_by("low", "kind")
        .len("runs")
        .sort("low", "kind")
        .with_columns(high=pl.col("low") + width)
    )
    return Histogram(
        title="Length of shared runs",
        data=runs,
        low=Axis("low", f"words in a row ({LONGEST} or more together)"),
        high="high",
        y=Axis("runs", "runs"),
        colour="kind",
        alt="Histogram of the number of words in a row that dataset and corpus share.",
        caption="Every run was verified word by word; case, punctuation and white space do not count.",
        name="runs",
    )
