"""The report stays below 3 MB whatever the data's size, and says what it leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from cuecard.card.card import Card
from cuecard.report.html.card_page import render_html
from cuecard.report.html.page import findings_that_fit, fitted_charts, fitted_views, shared_out
from cuecard.report.sections import SectionView, TableView
from cuecard.view import Column
from report.conftest import finding

LIMIT = 3_000_000


def test_a_report_of_many_labels_many_cues_and_long_texts_stays_below_3_mb(
    make_card: Callable[..., Card],
) -> None:
    words = [f"word{i:05d}{'ā' * 180}" for i in range(3_000)]
    labels = [f"label {i} {'ę' * 100}" for i in range(200)]
    findings = [finding(words[i] + "x" * 3_000, labels[i % 200]) for i in range(150)]
    html = render_html(make_card(words, labels, findings=findings, name="n" * 5_000))
    assert len(html.encode()) < LIMIT
    assert "further findings are in" in html
    assert "all are in <code>tables/cues.parquet</code>" in html


def test_large_parts_share_what_small_ones_leave() -> None:
    assert shared_out([10, 50, 90], 1_000) == [10, 50, 90]
    assert shared_out([10, 50, 90], 100) == [10, 45, 45]
    assert shared_out([], 100) == []


def test_rows_are_cut_to_the_budget_and_the_total_stays() -> None:
    rows = [["x" * 50, i] for i in range(1_000)]
    table = TableView("t", [Column("text"), Column("n", "count")], rows, 1_000)
    [view] = fitted_views([SectionView(tables=[table])], budget=10_000)
    [short] = view.tables
    assert 20 < len(short.rows) < 100
    assert short.rows[0] == rows[0]
    assert short.total == 1_000


@pytest.mark.parametrize("budget", [5_000, 20_000])
def test_a_large_chart_keeps_evenly_chosen_rows_and_says_so(budget: int) -> None:
    small = {"datasets": {"d": [{"x": 1}]}, "description": "Small."}
    large = {"datasets": {"d": [{"x": i, "text": "ü" * 40} for i in range(2_000)]}, "description": "Large."}
    charts = fitted_charts({"small": small, "large": large}, budget)
    assert charts["small"] == small
    assert len(json.dumps(charts["large"], ensure_ascii=False).encode()) < 1.05 * budget
    kept = [row["x"] for row in charts["large"]["datasets"]["d"]]
    assert kept[0] == 0
    assert kept[-1] > 1_900
    assert charts["large"]["usermeta"]["note"] == f"Drawn from {len(kept)} of 2,000 rows."


def test_findings_are_shown_until_the_budget_ends() -> None:
    assert findings_that_fit(["a" * 3_000] * 100, budget=100_000) == 10
    assert findings_that_fit(["a"], budget=100_000) == 1
