"""What the audit of concepts shows: the concepts with their shares, examples of each, and the bits they explain."""

from __future__ import annotations

import polars as pl

from cuecard.audits.concepts.findings import INPUTS
from cuecard.view import Axis, Chart, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import ci, count, display_text, fine, plural

MOST_SHOWN = 20
MOST_ROWS = 100
_EMBEDDINGS = {"tfidf": "the words they share (TF-IDF)", "minilm": "MiniLM sentence vectors"}


def concepts_view(outcome: Outcome) -> View:
    """Return which concepts go with a label, what they add to words, and examples of them."""
    summary = outcome.summary
    table = outcome.rows("concept_cues")
    value, low, high = summary["bits"]["concepts"]
    figures = [
        KeyFigure("concepts tested", count(summary["tested"])),
        KeyFigure("significant concepts", count(summary["significant"]), f"q ≤ {summary['alpha']:g}"),
        KeyFigure(
            "add to words",
            count(summary["beyond_words"]),
            f"given length and {summary['strongest_words']} words",
        ),
        KeyFigure("explained by concepts", f"{value:z.3f} bits", ci(low, high, fine)),
    ]
    return View(
        lead=[_made(summary)],
        figures=figures,
        charts=_charts(table, summary),
        tables=_tables(outcome, table),
        notes=_notes(summary),
    )


def _made(summary: dict[str, object]) -> str:
    by = _EMBEDDINGS.get(str(summary["embedding"]), f"vectors of {summary['embedding']}")
    return (
        f"Concepts are directions among texts, by {by}, that nobody named. They were found in "
        f"{count(summary['texts_found_on'])} texts of the training set and tested on "  # type: ignore[arg-type]
        f"{count(summary['texts_tested_on'])} others, of which none is a copy. A concept is named by the words that "  # type: ignore[arg-type]
        "its texts have more often than other texts; look at its examples before you trust the name."
    )


def _notes(summary: dict[str, object]) -> list[str]:
    notes = [
        "“Adds to words” is a test of the concept in a logistic regression of the label on text length and the "
        f"{summary['strongest_words']} words that predict labels best in the first half.",
        "Bits are those of a linear model of each input, on texts of the second half that it was not trained on; 0 is "
        "what the shares of the labels say.",
    ]
    if summary["sampled"]:
        notes.append("The splits are larger than most_texts: a random sample was read.")
    return notes


def _charts(table: pl.DataFrame, summary: dict[str, object]) -> list[Chart]:
    bits = summary["bits"]
    assert isinstance(bits, dict)
    rows = [
        {"input": INPUTS[name], "bits": value, "low": low, "high": high}
        for name, (value, low, high) in bits.items()
    ]
    charts: list[Chart] = []
    shown = _named(table.filter("significant").head(MOST_SHOWN))
    if shown.height:
        charts.append(
            Intervals(
                title="Concepts that predict a label",
                data=shown,
                y="shown",
                x=Axis("share", "", "percent", domain=(0, 1), ticks=4),
                low="share_low",
                high="share_high",
                colour="label",
                tick="chance",
                tooltip={"words": Column("words"), "beyond_words": Column("adds to words")},
                alt="Label shares of texts with each concept, with 95 % CI and chance.",
                caption="Share of the label among texts of the second half with the concept, 95 % CI; tick: chance.",
                name="concepts",
            )
        )
    charts.append(
        Intervals(
            title="Bits of the label explained",
            data=pl.DataFrame(rows),
            y="input",
            x=Axis("bits", "bits per example", "fine"),
            low="low",
            high="high",
            line=0.0,
            alt="Bits of the label that concepts, clusters and words explain, with 95 % CI.",
            caption="Cross-fitted on the second half, with 95 % CI.",
            wide=False,
            name="bits",
        )
    )
    return charts


def _named(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        shown=pl.Series([display_text(name, 40) for name in table["concept"]], dtype=pl.String)
    )


def _tables(outcome: Outcome, table: pl.DataFrame) -> list[Table]:
    shown = table.with_columns(
        pl.col("direction").replace({"points to": "for", "rules out": "against"}),
        beyond_words=pl.when("beyond_words").then(pl.lit("yes")).otherwise(pl.lit("no")),
    )
    columns = {
        "concept": Column("Concept"),
        "direction": Column("Cue", hint="for the label (more frequent with it) or against it"),
        "label": Column("Label", "label"),
        "train_count": Column("Texts with it", "count", "of the second half of the training set"),
        "share": Column("Share", "percent", "share of the label among them"),
        **interval_columns("share_", of="the share"),
        "chance": Column("Chance", "percent"),
        "q_value": Column("q", "probability", "adjusted over all concepts (false discovery rate)"),
        "beyond_words": Column("Adds to words", hint="significant given length and the strongest words"),
        "q_given_words": Column("q given words", "probability", brief=False),
        "words": Column("Words", brief=False),
    }
    tables = [Table("Concepts", "concept_cues", columns, data=shown, most=MOST_ROWS, searchable=True)]
    descriptions = outcome.rows("concept_descriptions")
    if descriptions.height:
        of_descriptions = {
            "concept": Column("Concept"),
            "description": Column("Description"),
            "auc": Column("AUC", "decimal", "of what the model says of unseen texts by the description"),
            **interval_columns(kind="decimal", of="the AUC"),
            "n": Column("Texts", "count"),
        }
        kept = descriptions.filter("shown")
        caption = (
            f"Descriptions with an AUC below 0.7 are not shown: {descriptions.height - kept.height} of "
            f"{descriptions.height}."
        )
        tables.append(
            Table(
                "Descriptions by a model", "concept_descriptions", of_descriptions, data=kept, caption=caption
            )
        )
    examples = outcome.rows("concept_examples")
    if examples.height:
        of_examples = {
            "concept": Column("Concept"),
            "kind": Column("Example", hint="clear: highest score; near miss: just below the threshold"),
            "label": Column("Label", "label"),
            "text": Column("Text"),
            "score": Column("Score", "fine", "above the threshold", brief=False),
        }
        title = f"Clear examples and near misses of {plural(examples['concept'].n_unique(), 'concept')}"
        tables.append(Table(title, "concept_examples", of_examples, data=examples, most=MOST_ROWS))
    return tables
