"""Figures of two printed columns, redrawn: a point per row of the paper's tables, as printed and as ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from cuecard.view import Axis, Scatter
from cuecard_papers.judging import Reading, Reproduction, Result
from cuecard_papers.specification import Correlation

#: Whose numbers a point shows.
PRINTED, OURS = "printed", "ours"


def plotted(reproduction: Reproduction, result: Result) -> Scatter | None:
    """Return the figure of a result, or None where it draws no two columns of the paper's tables."""
    if result.plot is None:
        return None
    points = point_table(reproduction, result.plot)
    titles: dict[str, str] = {}  # the first column of a key is that of the paper; others are of another model
    for reading in _readings(reproduction):
        titles.setdefault(reading.key, reading.column)
    x, y = titles[result.plot.x], titles[result.plot.y]
    counts = points["numbers"].value_counts()
    n = dict(zip(counts["numbers"], counts["count"], strict=True))
    return Scatter(
        title=result.what,
        data=points,
        x=Axis("x", x, zero=False),
        y=Axis("y", y, zero=False),
        colour="numbers",
        text="row",
        alt=f"{y} by {x}, as printed and as ours.",
        caption=f"{n.get(PRINTED, 0)} printed points, {n.get(OURS, 0)} of ours.",
    )


def point_table(reproduction: Reproduction, axes: Correlation) -> pl.DataFrame:
    """Return `row`, `numbers` (printed or ours), `x` and `y` of every row that has both columns."""
    x, y = (_by_row(reproduction, key) for key in (axes.x, axes.y))
    rows = []
    for row, of_y in y.items():
        dataset = row.partition("/")[0]
        names = (row, dataset, axes.same.get(dataset, ""))
        of_x = next((x[name] for name in names if name in x), None)
        if of_x is None:
            continue
        points = ((PRINTED, float(of_x.printed), float(of_y.printed)), (OURS, of_x.ours, of_y.ours))
        rows += [
            {"row": row, "numbers": numbers, "x": along, "y": up}
            for numbers, along, up in points
            if along is not None and up is not None
        ]
    schema = {"row": pl.String, "numbers": pl.String, "x": pl.Float64, "y": pl.Float64}
    return pl.DataFrame(rows, schema=schema)


def _by_row(reproduction: Reproduction, key: str) -> Mapping[str, Reading]:
    """Return the numbers of a column by row, the first of each."""
    found: dict[str, Reading] = {}
    for reading in _readings(reproduction):
        if reading.key == key and reading.row and reading.printed[0] not in "<>":
            found.setdefault(reading.row, reading)
    return found


def _readings(reproduction: Reproduction) -> Iterable[Reading]:
    return (reading for result in reproduction.results for reading in result.readings)
