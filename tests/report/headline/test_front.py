"""The first screen has one picture: what sections declare for it, or the first chart of the worst section."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from cuecard.analysis import Finding
from cuecard.card.card import Card, Section
from cuecard.report.charts.cue_map import _names, draw_cue_map
from cuecard.report.first_screen import front_items
from cuecard.report.html.card_page import render_html
from cuecard.report.sections import SectionView, TableView, section_view
from cuecard.view import Axis, Bars, Column, CueMap


def _chart(name: str) -> Bars:
    return Bars(
        title=name, name=name, data=pl.DataFrame({"a": ["x"], "b": [1.0]}), y="a", x=Axis("b"), alt=""
    )


def test_the_map_of_cues_is_on_the_first_screen_before_the_findings(card: Card) -> None:
    html = render_html(card)
    first = html.index('data-chart="cues-0" data-height=')
    assert html.index('class="answers"') < first < html.index('id="findings"')
    assert html.count('data-chart="cues-0"') == 2


def test_declared_tables_come_first_and_there_are_at_most_two(make_card: Callable[..., Card]) -> None:
    card = make_card(sections={"mine": Section(title="Mine", status="done")})
    table = TableView("Tests", [Column("a")], [["x"]], 1)
    views = {
        "cues": SectionView(charts=[_chart("a"), _chart("b")], front=["b"]),
        "mine": SectionView(charts=[_chart("c")], tables=[table], front=["Tests", "c"]),
    }
    shown = front_items(card, views)
    assert [(item.place, item.is_chart) for item in shown] == [("mine-front", False), ("cues-1", True)]


def test_without_a_declaration_it_is_the_first_chart_of_the_worst_section(
    make_card: Callable[..., Card],
) -> None:
    worst = Finding(section="mine", severity="high", title="t", text="x")
    card = make_card(findings=[worst], sections={"mine": Section(title="Mine", status="done")})
    views = {name: SectionView(charts=[_chart(name)]) for name in ("overview", "mine")}
    assert [item.place for item in front_items(card, views)] == ["mine-0"]
    views["mine"] = SectionView()
    assert [item.place for item in front_items(card, views)] == ["overview-0"]
    assert front_items(card, {"mine": SectionView()}) == []


def test_what_is_about_another_subject_is_not_on_the_first_screen(make_card: Callable[..., Card]) -> None:
    card = make_card(sections={"mine": Section(title="Mine", status="done", about="models")})
    views = {"mine": SectionView(charts=[_chart("c")], front=["c"])}
    assert front_items(card, views) == []


def test_the_map_is_of_coverage_and_names_the_words_that_are_named_elsewhere_first(card: Card) -> None:
    chart = next(c for c in section_view(card, "cues").charts if isinstance(c, CueMap))
    assert chart.instances == 3000
    assert chart.x_title == "share of training pairs with it (logarithmic)"
    points = next(rows for rows in _drawn(chart) if "significant" in rows[0])
    first = chart.frame.row(0, named=True)
    assert points[0]["covered"] == round(first["n"] / 3000, 6)
    last = chart.frame.filter("significant")["feature"][-1]
    named = replace(chart, data=chart.frame.with_columns(named=pl.col("feature") == last))
    assert [name["feature"] for name in _names(named)].index(last) == 2  # after the two strongest


def test_a_narrower_map_shows_fewer_names_so_that_none_covers_another(card: Card) -> None:
    chart = next(c for c in section_view(card, "cues").charts if isinstance(c, CueMap))
    rows = [("word", f"feature{i}", "yes", 100 * (1 + i % 4), 0.9 - 0.01 * i, True, True) for i in range(12)]
    schema = ["family", "feature", "label", "n", "share", "significant", "is_cue"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    names = _names(replace(chart, data=frame, named=""))
    shown = [sum(name["narrowest"] <= width for name in names) for width in (160, 280, 420, 600)]
    assert shown == sorted(shown)
    assert shown[0] < shown[-1] == len(names)


def _drawn(chart: CueMap) -> list[list[dict[str, object]]]:
    """Return the rows of every layer that has any."""
    return [rows for rows in draw_cue_map(chart).to_dict(validate=False)["datasets"].values() if rows]
