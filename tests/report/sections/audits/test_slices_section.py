from __future__ import annotations

import polars as pl

import cuecard as cc
from cuecard.data.demo import demo_nli
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view


def test_slices_are_named_for_people():
    rows = [
        {
            "question": f"q{i}?",
            "choices": [f"a{i}", f"b{i} and more"],
            "answer": i % 2,
            "part_of": "ab"[i // 2 % 2],
        }
        for i in range(80)
    ]
    card = cc.audit(cc.load(rows), only=["slices"])
    view = section_view(card, "slices")
    table = view.tables[0]
    assert [column.title for column in table.columns[:4]] == ["Shortcut", "part_of", "Examples", "Accuracy"]
    assert {row[1] for row in table.rows} == {"a", "b"}
    assert not any("_" in row[0] for row in table.rows)
    assert "on the values of part_of" in view.lead[0]


def test_slices_of_several_columns_name_the_column():
    rows = [
        {
            "question": f"q{i}?",
            "choices": [f"a{i}", f"b{i} and more"],
            "answer": i % 2,
            "part_of": "ab"[i // 2 % 2],
            "source": "xy"[i // 40],
        }
        for i in range(80)
    ]
    card = cc.audit(cc.load(rows), only=["slices"])
    table = section_view(card, "slices").tables[0]
    assert table.columns[1].title == "Slice"
    assert {row[1] for row in table.rows} == {"part_of = a", "part_of = b", "source = x", "source = y"}


def test_rules_by_slices_are_a_map():
    data = demo_nli(300, seed=1).instances
    rest = ["news"] * (len(data) - 300)
    data = data.with_columns(genre=pl.Series(["news", "letters", "talks"] * 100 + rest))
    card = cc.audit(data, only=["slices"])
    view = section_view(card, "slices")
    (cells,) = specification(draw(view.charts[0]))["datasets"].values()
    assert {cell["slice"] for cell in cells} == {"genre = news", "genre = letters", "genre = talks"}
    assert view.tables[0].total == len(cells)
