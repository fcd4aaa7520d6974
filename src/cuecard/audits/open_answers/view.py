"""What the audits of open answers and of their place show."""

from __future__ import annotations

import polars as pl

from cuecard.view import Axis, Bars, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
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


CHOICES = {
    "longest_name": "the longest name",
    "first_name": "the first name",
    "last_name": "the last name",
    "commonest_name": "the commonest name",
    "only_number": "the only number",
    "only_date": "the only date",
    "first_sentence": "in the first sentence",
    "last_sentence": "in the last sentence",
}


def place_view(outcome: Outcome) -> View:
    """Return where answers stand in their contexts, and how often blind choices are right."""
    summary, table = outcome.summary, outcome.rows("places")
    if not summary or table.is_empty():
        return View()
    tenths = table.filter(pl.col("kind") == "tenth").with_columns(
        place=pl.col("place").str.replace("_", " ", literal=True)
    )
    others = table.filter(pl.col("kind") != "tenth").with_columns(place=pl.col("place").replace(CHOICES))
    charts: list[Bars | Intervals] = []
    if tenths.height:
        long = pl.concat(
            [
                tenths.select("place", pl.col("share"), of=pl.lit("answers")),
                tenths.select("place", pl.col("chance").alias("share"), of=pl.lit("chance")),
            ]
        )
        charts.append(
            Bars(
                title="Where in the context answers begin",
                name="tenths",
                data=long,
                y="place",
                x=Axis("share", "share of the answers", "percent"),
                series="of",
                colour="of",
                alt="Bars of the share of answers that begin in each tenth of the context, beside chance.",
                caption="By tenth of the places that leave room for the answer, of answers that stand in their "
                "context once.",
                wide=False,
            )
        )
    if others.height:
        charts.append(
            Intervals(
                title="Choices and places that need no question",
                name="choices",
                data=others,
                y="place",
                x=Axis("share", "share of right answers", "percent"),
                low="low",
                high="high",
                tick="chance",
                alt="Dots with intervals of how often an answer is in a place, or a blind choice is right.",
                caption="Ticks are chance: random places for sentences, a random name, number or date for choices.",
                wide=False,
            )
        )
    seen, once, n = summary["extractive"], summary["once"], summary["n"]
    return View(
        lead=[
            f"{count(seen)} of {count(n)} answers ({percent(seen / n)}) stand in their context, {count(once)} of them "
            "once. Chance knows how long every answer and every context is."
        ],
        figures=[
            KeyFigure("answers in their context", percent(seen / n), f"of {count(n)} questions"),
            *(
                f"{place}.{'accuracy' if kind == 'choice' else 'share'}"
                for place, kind in table.select("place", "kind").iter_rows()
                if place in ("first_sentence", "last_sentence", "longest_name")
            ),
        ],
        charts=charts,
        tables=[
            Table(
                "Places and choices",
                "places",
                data=table.with_columns(
                    pl.col("place").replace(CHOICES).str.replace_all("_", " ", literal=True)
                ),
                columns={
                    "place": Column("Place or choice"),
                    "share": Column("Share", "percent"),
                    **interval_columns(),
                    "chance": Column("Chance", "percent"),
                    "p_value": Column("p", "probability", "corrected by Holm's method"),
                    "n": Column("Questions", "count"),
                },
            )
        ],
        notes=[]
        if n == summary["all"]
        else [f"A random sample of {count(n)} of {count(summary['all'])} questions was looked at."],
    )
