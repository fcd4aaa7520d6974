from __future__ import annotations

import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.audits.cues.view import confirmed_cues
from cuecard.card import Card
from cuecard.data import load
from cuecard.data.demo import demo_nli
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.run import audit


@pytest.fixture(scope="module")
def planted() -> Card:
    return audit(demo_nli(6_000, seed=4).instances, only=["cues"], features=("word", "bigram", "negation"))


def test_cues_are_drawn_by_their_share_in_train_and_in_test(planted: Card) -> None:
    chart = next(c for c in section_view(planted, "cues").charts if c.title == "Training set and test set")
    points = draw(chart).layer[1].data
    drawn = {row["feature said"] for row in points.values}
    shown = confirmed_cues(planted.tables["cues"], planted.dataset.labels)
    assert drawn == set(shown["feature"])
    assert "indeed" in drawn
    assert shown["significant"].all()


def test_a_cue_that_travels_with_a_stronger_one_is_listed_with_what_it_adds(planted: Card) -> None:
    table = next(t for t in section_view(planted, "cues").tables if "co-occur" in t.title)
    rows = {row[0]: dict(zip([c.title for c in table.columns], row, strict=True)) for row in table.rows}
    assert rows["not"]["Co-occurs with"] == "a negation"
    assert rows["not"]["Added z"] is None
    assert table.total == planted.tables["redundancy"].filter(pl.col("given").is_not_null()).height


def test_without_a_test_split_there_is_nothing_to_compare() -> None:
    data = demo_nli(3_000, seed=4, test_fraction=0).instances
    titles = [c.title for c in section_view(audit(data, only=["cues"], features=("word",)), "cues").charts]
    assert "Map of cues" in titles
    assert "Training set and test set" not in titles
    assert Cues(features=("word",)).run(data).summary["significant"] > 0


def test_counts_and_shares_of_responses_are_of_the_same_responses(planted: Card) -> None:
    rows = [
        {
            "prompt": f"p{i}",
            "chosen": "yes sure" if i % 3 else "no way",
            "rejected": "no sure" if i % 5 else "yes",
        }
        for i in range(120)
    ]
    card = audit(load(pl.DataFrame(rows), task="preference"), only=["cues"], features=("word",))
    view = section_view(card, "cues")
    [table] = [table for table in view.tables if table.title == "All cues"]
    titles = [column.title for column in table.columns]
    assert titles.index("Compared") == titles.index("Share") - 1
    drawn = {
        row["feature"]: row["train said"]
        for layer in draw(next(c for c in view.charts if c.name == "map")).layer
        for row in getattr(layer.data, "values", None) or []
        if "train said" in row
    }
    for row in table.rows:
        shown = dict(zip(titles, row, strict=True))
        cue = card.tables["cues"].filter(pl.col("feature") == shown["Feature"]).row(0, named=True)
        assert shown["Instances"] == cue["train_count"]
        assert shown["Compared"] == cue["share_n"]
        assert drawn[shown["Feature"]].endswith(f" of {cue['share_n']:.0f}")
    assert (card.tables["cues"]["share_n"] < card.tables["cues"]["train_count"]).any()
    pairs = section_view(planted, "cues").tables
    assert "Compared" not in [column.title for column in pairs[0].columns]


def test_the_strongest_cue_is_one_of_a_single_text() -> None:
    rows = [
        {
            "premise": f"alpha{i} beta{i} gamma{i}",
            "hypothesis": f"alpha{i} every" if i % 2 else f"other{i} {'delta' if i % 10 else 'every'}",
            "label": "yes" if i % 2 else "no",
        }
        for i in range(600)
    ]
    card = audit(load(pl.DataFrame(rows)), only=["cues"], features=("word", "overlap"))
    assert card.tables["cues"]["family"][0] == "overlap"
    [strongest] = [text for text in section_view(card, "cues").lead if text.startswith("Strongest")]
    assert strongest.startswith("Strongest: “delta” (")


def test_words_that_give_most_away_have_a_table(planted: Card) -> None:
    table = next(t for t in section_view(planted, "cues").tables if t.title.startswith("Gives away most"))
    words = [row[0] for row in table.rows]
    assert {"nobody", "indeed", "not", "no"} & set(words)
    named = [
        m.name.rpartition(".")[2] for m in planted.all_measures() if m.name.startswith("cues.gives_away.")
    ]
    assert words == named
