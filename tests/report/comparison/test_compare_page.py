from __future__ import annotations

import pytest
from benchmarks.demo_shapes import random_labels

from cuecard.card import Card
from cuecard.data.demo import demo_nli
from cuecard.errors import InputError, UsageError
from cuecard.report import write_comparison_charts
from cuecard.report.charts.comparison import excess_chart
from cuecard.run import audit


@pytest.fixture(scope="module")
def cards() -> list[Card]:
    sets = [demo_nli(1_200, seed=seed).instances for seed in range(3)]
    return [audit(data, only=["partial_input"]) for data in sets]


@pytest.mark.parametrize("name", ["sets.html", "sets.svg"])
def test_the_charts_of_several_cards_are_one_file(cards: list[Card], tmp_path, name: str) -> None:
    if name.endswith(".svg"):
        pytest.importorskip("vl_convert", reason="needs the extra images")
    path = write_comparison_charts(cards, tmp_path / "new" / name)
    text = path.read_text(encoding="utf-8")
    assert "partial-input accuracy" in text
    assert "demo-nli" in text
    assert [p.name for p in path.parent.iterdir()] == [name]


def test_cards_without_numbers_to_draw_and_other_endings_are_refused(cards: list[Card], tmp_path) -> None:
    bare = audit(demo_nli(300, seed=0).instances, only=["overview"])
    with pytest.raises(InputError, match="partial_input"):
        write_comparison_charts([bare], tmp_path / "x.html")
    with pytest.raises(UsageError, match=r"\.png"):
        write_comparison_charts(cards, tmp_path / "x.pdf")
    assert not list(tmp_path.iterdir())


def test_clusters_are_set_against_chance_and_what_is_missing_is_named(tmp_path) -> None:
    data = demo_nli(600, seed=0).instances
    cards = [audit(data, only=["clusters"], map="pca", seed=seed) for seed in (0, 1)]
    page = write_comparison_charts(cards, tmp_path / "sets.html").read_text(encoding="utf-8")
    assert "Label information of the clusters, with 95 % CIs" in page
    assert "demo-nli, tfidf (2)" in page
    assert "no card has the audit: accuracy with full and partial input (partial_input)" in page


def test_sets_are_ranked_by_bits_and_older_cards_by_the_excess() -> None:
    data = demo_nli(600, seed=0).instances
    quick = {"clusters": {"map": "none", "sweep": False, "permutations": 20, "restarts": 1}}
    leaning = audit(data, only=["clusters"], settings=quick)
    even = audit(random_labels(data, seed=0), only=["clusters"], settings=quick)
    drawn = excess_chart([("even", even), ("leaning", leaning)]).to_dict()
    layers = [layer for layer in drawn["layer"] if "y" in layer["encoding"]]
    assert layers[0]["encoding"]["y"]["sort"] == ["leaning", "even"]
    clusters = even.sections["clusters"]
    clusters.measures = [one for one in clusters.measures if one.name != "clusters.information"]
    older = excess_chart([("even", even), ("leaning", leaning)]).to_dict()
    assert older["title"]["text"] == "PECO above chance, with 95 % CIs"
    layers = [layer for layer in older["layer"] if "y" in layer["encoding"]]
    assert layers[0]["encoding"]["y"]["sort"] == ["even", "leaning"]
