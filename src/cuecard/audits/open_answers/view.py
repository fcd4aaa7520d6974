"""What the audit of open answers shows."""

from __future__ import annotations

import polars as pl

from cuecard.view import Axis, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import count, percent

MOST_ROWS = 30
SHOWN_RULES = ("prior", "nearest_question", "question_words")
RULES = {
    "prior": "commonest answer",
    "question_type": "by question type",
    "nearest_question": "nearest question",
    "question_words": "words of the question",
    "same_template": "same template",
}


def open_view(outcome: Outcome) -> View:
    """Return how often blind rules are right, and what is common among answers."""
    summary = outcome.summary
    if not summary:
        return View()
    lines = outcome.rows("rules").with_columns(
        name=pl.col("rule").replace(RULES), named=pl.col("kind") != "column"
    )
    chart = Intervals(
        title="Exact match of blind rules",
        name="rules",
        data=lines.select("name", "accuracy", "low", "high", "chance", "f1", "n", "says"),
        y="name",
        x=Axis("accuracy", "exact match", "percent"),
        low="low",
        high="high",
        tick="chance",
        alt="Dots with intervals of the exact match of every blind rule.",
        caption="Ticks are what the commonest answer scores on the same questions (for that rule itself, one in the "
        "number of different answers).",
        tooltip={"f1": Column("F1", "percent"), "n": Column("questions", "count"), "says": Column("rule")},
    )
    how = "cross-fitted" if summary["cross_fitted"] else "learned on the training set, scored on the test set"
    copied, templates = summary["copied"], summary["templates"]
    return View(
        lead=[
            f"How often answers are right that are given without answering, {how}. An answer is right if it equals an "
            "accepted one up to case, articles and punctuation, numbers by their value."
        ],
        figures=[
            KeyFigure("different answers", count(summary["distinct"]), f"of {count(summary['n'])} questions"),
            *(f"{rule}.accuracy" for rule in lines["rule"] if rule in SHOWN_RULES),
            KeyFigure(
                "answers in their question",
                percent(copied["hits"] / copied["n"]),
                f"by chance {percent(copied['chance'])}",
            ),
            KeyFigure(
                "questions of a shared template"
                if summary["cross_fitted"]
                else "test questions of a known template",
                percent(templates["partners"] / summary["n"]),
                f"{count(templates['groups'])} templates",
            ),
        ],
        charts=[chart],
        tables=_tables(outcome),
        notes=_notes(outcome),
    )


def _notes(outcome: Outcome) -> list[str]:
    shared = outcome.summary["shared"]
    if shared is None:
        return []
    return [
        f"{percent(shared['hits'] / shared['n'])} of the test questions have an answer that the training set has, too "
        f"({percent(shared['share_of_kinds'])} of the different test answers). Without that, a question alone cannot "
        "predict the answer exactly."
    ]


def _tables(outcome: Outcome) -> list[Table]:
    answers = {
        "answer": Column("Answer"),
        "count": Column("Questions", "count"),
        "share": Column("Share", "percent"),
        "format": Column("Format", brief=False),
    }
    kinds = {
        "column": Column("Column"),
        "value": Column("Value"),
        "n": Column("Questions", "count"),
        "answer": Column("Commonest answer"),
        "share": Column("Exact match", "percent", "of always giving it here, not cross-fitted"),
        "prior": Column("Of the commonest of all", "percent", brief=False),
        "distinct": Column("Different answers", "count", brief=False),
    }
    rules = {
        "rule": Column("Rule"),
        "accuracy": Column("Exact match", "percent"),
        **interval_columns(),
        "f1": Column("F1", "percent"),
        "chance": Column("Commonest answer", "percent", "on the same questions"),
        "p_value": Column("p", "probability", "corrected by Holm's method"),
        "n": Column("Questions", "count", brief=False),
        "says": Column("What it answers", brief=False),
    }
    templates = {
        "template": Column("Template"),
        "questions": Column("Questions", "count"),
        "answers": Column("Different answers", "count"),
        "commonest": Column("Commonest answer", brief=False),
        "share": Column("Its share", "percent", brief=False),
        "splits": Column("Splits", brief=False),
    }
    formats = {
        "column": Column("Column"),
        "value": Column("Value"),
        "n": Column("Questions", "count"),
        "format": Column("Format"),
        "share": Column("Share", "percent"),
        "words": Column("Median words", "number", brief=False),
    }
    shown = [
        Table(
            "Blind rules",
            "rules",
            rules,
            data=outcome.rows("rules").with_columns(pl.col("rule").replace(RULES)),
        ),
        Table("Commonest answers", "common_answers", answers, most=MOST_ROWS),
        Table("Commonest answer by kind of question", "kinds", kinds, most=MOST_ROWS),
        Table("Formats of answers", "formats", formats, most=MOST_ROWS),
        Table(
            "Templates",
            "templates",
            templates,
            most=MOST_ROWS,
            caption="Numbers, names and persons are masked.",
        ),
    ]
    return [table for table in shown if outcome.rows(table.source).height]
