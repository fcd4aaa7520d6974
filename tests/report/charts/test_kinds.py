"""Every kind of chart that a check can declare is drawn, with a tooltip for what it draws."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from cuecard.report.charts.drawing import themed
from cuecard.report.charts.kinds import chart_specification, draw
from cuecard.view import (
    Axis,
    Bars,
    Boxes,
    Chart,
    Column,
    HeatMap,
    Histogram,
    Intervals,
    Lines,
    Pairs,
    Scatter,
)

vl_convert = pytest.importorskip("vl_convert")

ROWS = pl.DataFrame(
    {
        "name": ["a", "a", "b", "b"],
        "kind": ["x", "y", "x", "y"],
        "step": [1, 3, 1, 3],
        "share": [0.1, 0.4, 0.6, 0.9],
        "low": [0.05, 0.3, 0.5, 0.8],
        "high": [0.2, 0.5, 0.7, 0.95],
        "q1": [0.1, 0.3, 0.5, 0.8],
        "median": [0.1, 0.4, 0.6, 0.9],
        "q3": [0.2, 0.5, 0.7, 0.9],
        "n": [1200, 5, 7, 9],
        "true": [True, False, True, False],
    }
)
SHARE = Axis("share", "share", "percent")
LOW = Axis("low", "from", "percent")
WORDS = {"title": "T", "data": ROWS, "alt": "An example.", "tooltip": {"n": Column("examples", "count")}}
KINDS: dict[str, Chart] = {
    "intervals": Intervals(
        **WORDS, y="name", x=SHARE, low="low", high="high", series="kind", differs="true", line=0.5, tick="q1"
    ),
    "bars": Bars(**WORDS, y="name", x=SHARE, series="kind", text="kind", low="low", high="high"),
    "bars before others": Bars(**WORDS, y="name", x=LOW, behind="share"),
    "stacked bars": Bars(**WORDS, y="name", x=SHARE, series="kind", stacked=True, text="kind"),
    "histogram": Histogram(**WORDS, low=LOW, high="high", y=SHARE, colour="kind"),
    "overlaid histogram": Histogram(**WORDS, low=LOW, high="high", y=SHARE, colour="kind", overlaid=True),
    "logarithmic histogram": Histogram(**WORDS, low=Axis("low", log=True), high="high", y=SHARE, line=0.1),
    "lines": Lines(**WORDS, x=Axis("step"), y=SHARE, colour="name", low="low", high="high", reference="q1"),
    "lines of names": Lines(**WORDS, x=Axis("kind"), y=SHARE, colour="name", facet="true", named=True),
    "mean line": Lines(**WORDS, x=Axis("step"), y=SHARE, low="low", high="high", mean=True, points=True),
    "heat map": HeatMap(**WORDS, x="name", y="kind", value=SHARE, text="kind", note="name", framed="true"),
    "two colours": HeatMap(**WORDS, x="name", y="kind", value=SHARE, middle=0.5, text="kind", faint="true"),
    "panels of cells": HeatMap(
        **WORDS, x="step", y="step", value=SHARE, middle=0.5, facet="name", steps=[1, 2, 3]
    ),
    "scatter": Scatter(
        **WORDS,
        x=LOW,
        y=SHARE,
        colour="kind",
        size="n",
        text="name",
        diagonal=True,
        x_low="low",
        x_high="high",
    ),
    "joined scatter": Scatter(**WORDS, x=LOW, y=SHARE, joined=True, chosen="true", line=0.3),
    "pairs": Pairs(**WORDS, item="name", before="low", after="high", axis=SHARE),
    "ranked pairs": Pairs(**WORDS, item="name", before="low", after="high", axis=SHARE, ranked="rank"),
    "boxes": Boxes(**WORDS, x="name", x_title="names", colour="kind", y=SHARE),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_and_says_what_it_shows(kind: str) -> None:
    chart = KINDS[kind]
    svg = vl_convert.vegalite_to_svg(themed(draw(chart)).to_dict())
    assert svg.count("<path") > 3
    assert "NaN" not in svg
    specification = str(chart_specification(chart))
    assert "'title': 'examples'" in specification
    assert "1,200" in specification


def test_cells_are_at_their_steps_and_not_in_a_corner() -> None:
    specification = chart_specification(KINDS["panels of cells"])
    domain = specification["spec"]["encoding"]["y"]["scale"]["domain"]
    assert domain == [3, 2, 1]
    (rows,) = specification["datasets"].values()
    assert {row["step"] for row in rows} <= set(domain)


def test_a_chart_of_a_table_that_was_not_looked_up_is_an_error() -> None:
    with pytest.raises(TypeError, match="'somewhere' of the chart 'T' has not been looked up"):
        draw(Bars(title="T", data="somewhere", alt="", y="name", x=SHARE))


def test_a_pale_cell_is_written_on_in_the_ink_of_the_scheme() -> None:
    rows = pl.DataFrame(
        {"x": ["a", "b"], "y": ["m", "m"], "v": [1.0, -1.0], "text": ["+1", "−1"], "pale": [False, True]}
    )
    chart = HeatMap(
        title="t", alt="", data=rows, x="x", y="y", value=Axis("v"), middle=0.0, text="text", faint="pale"
    )
    layers = draw(chart).to_dict()["layer"]
    texts = [layer for layer in layers if layer["mark"]["type"] == "text"]
    assert [(t["transform"][0]["filter"], "color" in t["mark"]) for t in texts] == [
        ("!datum['pale']", True),
        ("datum['pale']", False),
    ]
    plain = draw(replace(chart, faint="", wide=False)).to_dict()
    assert plain["width"] == "container"
