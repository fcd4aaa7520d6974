"""The page of a comparison: verdict first, changes with intervals, charts; no text of a card can break out of it."""

from __future__ import annotations

import re
from dataclasses import replace

import polars as pl
import pytest

from cuecard.card import Card, compare, save_card
from cuecard.data.demo import demo_nli
from cuecard.report import comparison_html
from cuecard.report.changes_page import comparison_chapter
from cuecard.report.charts.kinds import draw
from cuecard.run import audit


@pytest.fixture(scope="module")
def cards() -> list[Card]:
    data = demo_nli(900, seed=0).instances
    marked = pl.col("hypothesis") + pl.when(pl.col("label") == data.labels[0]).then(
        pl.lit(" indeed")
    ).otherwise(pl.lit(""))
    leaking = replace(data, table=data.table.with_columns(hypothesis=marked))
    return [audit(one, only=["cues", "partial_input"], features=("word",)) for one in (data, leaking)]


def test_the_page_begins_with_the_verdict_and_has_the_interval_of_every_change(cards):
    [change] = compare(cards, ["first", "second"])
    chapter = comparison_chapter(change)
    page = comparison_html([change]).replace("\xa0", " ")
    assert chapter.verdict.startswith("Worse: ")
    assert page.index(chapter.verdict) < page.index("Changes with 95 % CIs") < page.index("CI low")
    table = chapter.parts[0].view.tables[0]
    assert len(change.judged) > len(table.rows) == len(change.moved) > 0
    row = next(row for row in table.rows if row[0] == "hypothesis-only accuracy above chance")
    assert row[1] == "▲ worse"
    value, low, high = (float(cell.text.replace("−", "-")) for cell in row[4:7])
    assert 0 < low < value < high
    assert row[4].number == pytest.approx(value / 100, abs=1e-3)
    quiet = chapter.parts[0].quiet.tables[0]
    assert {row[1] for row in quiet.rows} == {"within noise"}
    assert page.index("<summary>Within noise: ") < page.index("Measures within noise")
    assert any("indeed" in str(row) for row in chapter.parts[1].view.tables[0].rows)
    for part in chapter.parts:
        for chart in part.view.charts:
            assert draw(chart).to_dict()


def test_the_page_fetches_nothing_and_names_of_cards_stay_text(cards):
    page = comparison_html(compare(cards, ["<script>alert(1)</script>", "second"]))
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in shown
    assert not re.search(r"(?:src|href)=\"(?!#)", shown)


def test_equal_cards_and_several_steps_have_a_page(cards):
    page = comparison_html(compare([cards[0], cards[0], cards[1]], ["a", "b", "c"]))
    assert "Unchanged." in page
    assert page.count('class="hero"') == 2
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_command_writes_the_page_and_refuses_what_it_cannot_write(cuecard, cards, tmp_path):
    for name, card in zip(("v1", "v2"), cards, strict=True):
        save_card(card, tmp_path / name)
    ran = cuecard("compare", tmp_path / "v1", tmp_path / "v2", "--page", tmp_path / "changes.html")
    assert ran.code == 0, ran.err
    assert f"Report: {tmp_path / 'changes.html'}" in ran.out.replace("\n", "")
    assert "got worse beyond noise" in (tmp_path / "changes.html").read_text(encoding="utf-8")
    for more, said in (
        ((tmp_path / "v2", "--page", tmp_path / "x.pdf"), "written as .html"),
        (("--page", tmp_path / "y.html"), "name at least two cards"),
    ):
        ran = cuecard("compare", tmp_path / "v1", *more)
        assert ran.code == 2
        assert said in ran.err.replace("\n", " ")
    assert not list(tmp_path.glob("[xy].*"))
