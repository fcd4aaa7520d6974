"""What the audit of the place of answers shows."""

from __future__ import annotations

import polars as pl

from cuecard.view import Axis, Bars, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import count, percent

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
