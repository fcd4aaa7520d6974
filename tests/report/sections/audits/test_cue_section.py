from __future__ import annotations

import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.card import Card
from cuecard.data.demo import demo_nli
from cuecard.report.charts.audits.cue_confirmation import confirmed_cues
from cuecard.report.sections import section_view
from cuecard.run import audit


@pytest.fixture(scope="module")
def planted() -> Card:
    return audit(demo_nli(6_000, seed=4).instances, only=["cues"], features=("word", "bigram", "negation"))


def test_cues_are_drawn_by_their_share_in_train_and_in_test(planted: Card) -> None:
    chart = next(c for c in section_view(planted, "cues").charts if c.title == "Training set and test set")
    points = chart.draw().layer[1].data
    drawn = {row["feature"] for row in points.values}
    shown = confirmed_cues(planted.tables["cues"], planted.dataset.labels)
    assert drawn == set(shown["feature"])
    assert "indeed" in drawn
    assert shown["significant"].all()


def test_a_cue_that_travels_with_a_stronger_one_is_listed_with_what_it_adds(planted: Card) -> None:
    table = next(t for t in section_view(planted, "cues").tables if "co-occur" in t.title)
    rows = {row[0]: dict(zip([c.title for c in table.columns], row, strict=True)) for row in table.rows}
    assert rows["not"]["Co-occurs with"] == "negation:negation"
    assert rows["not"]["Added z"] is None
    assert table.total == planted.tables["redundancy"].filter(pl.col("given").is_not_null()).height


def test_without_a_test_split_there_is_nothing_to_compare() -> None:
    data = demo_nli(3_000, seed=4, test_fraction=0).instances
    titles = [c.title for c in section_view(audit(data, only=["cues"], features=("word",)), "cues").charts]
    assert "Map of cues" in titles
    assert "Training set and test set" not in titles
    assert Cues(features=("word",)).run(data).summary["significant"] > 0
