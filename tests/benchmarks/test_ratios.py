"""The table of ratios is one run's, and the page is made from it."""

from __future__ import annotations

import pytest
from benchmarks.measure import Ratio, Seconds, halves, record, recorded, table
from scripts.write_performance import BEGIN, END, with_table

from benchmarks import measure


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "RESULTS", tmp_path)


def test_rows_are_kept_in_place_of_earlier_ones_and_printed(results):
    assert recorded() == []
    record(Ratio("a", "b", Seconds(1.0, 2.0), Seconds(4.0, 4.0), 0.5))
    record(Ratio("c", "b", Seconds(1.0, 1.0), Seconds(1.0, 1.0)))
    record(Ratio("a", "b", Seconds(3.0, 2.0), Seconds(4.0, 4.0), 0.5))
    assert [(row.name, row.clock, row.processor, row.goal) for row in recorded()] == [
        ("c", 1.0, 1.0, None),
        ("a", 0.75, 0.5, 0.5),
    ]
    assert table(recorded())[-1] == "| a | b | 3.00 s / 4.00 s | 0.75 | 0.50 | at most 0.50 |"


def test_the_page_has_the_table_between_its_marks():
    assert with_table(f"x\n{BEGIN}\nold\n{END}\ny\n", ["new"]) == f"x\n{BEGIN}\n\nnew\n\n{END}\ny\n"
    with pytest.raises(ValueError, match="lacks"):
        with_table("x", ["new"])


def test_halves_are_distinct_or_drawn_again():
    pairs = halves(20_000)
    assert pairs.columns == ["premise", "hypothesis", "label"]
    assert pairs.n_unique() > 19_900
    assert pairs["label"].n_unique() == 3
    assert halves(20_000).equals(pairs)
    drawn = halves(200_000, distinct=False)
    assert drawn.n_unique() < 100_000
