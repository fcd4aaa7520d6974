from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from cuecard.audits.cues.view import MOST_POINTS, critical_p, sample_for_map, strongest, with_test_share
from cuecard.card.card import Card
from cuecard.report.charts.drawing import legend_columns, themed
from cuecard.report.charts.kinds import chart_specification, draw
from cuecard.report.sections import outcome_of, section_view

vl_convert = pytest.importorskip("vl_convert")

CardMaker = Callable[..., Card]


def points(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the largest set of rows in a specification."""
    rows: list[dict[str, Any]] = max(spec["datasets"].values(), key=len)
    return rows


def specified(card: Card, section: str, name: str) -> dict[str, Any]:
    """Return the specification of a chart."""
    return chart_specification(next(c for c in section_view(card, section).charts if c.name == name))


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("cues", "map"), ("cues", "cues_of_entailment"), ("cues", "families"), ("overview", "label_balance"),
        ("overview", "length_of_the_hypothesis"),
    ],
)  # fmt: skip
def test_every_chart_compiles_and_draws(card: Card, section: str, name: str) -> None:
    chart = next(c for c in section_view(card, section).charts if c.name == name)
    svg = vl_convert.vegalite_to_svg(themed(draw(chart)).to_dict())
    assert svg.count("<path") > 3


def test_labels_are_data_and_never_part_of_a_field_or_expression(make_card: CardMaker) -> None:
    labels = ["a.b[0]", "x'] || alert(1) || ['"]
    card = make_card(labels=labels)
    spec = specified(card, "cues", "map")
    spec.pop("datasets")
    for channel in _channels(spec):
        channel.pop("scale", None)
    assert "alert" not in str(spec)
    assert "a.b[0]" not in str(spec)


def _channels(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [c for layer in spec["layer"] for c in layer["encoding"].values() if isinstance(c, dict)]


def test_the_map_keeps_the_strongest_and_a_sample_of_the_rest(make_card: CardMaker) -> None:
    table = make_card([f"w{i}" for i in range(6000)]).tables["cues"]
    sample = sample_for_map(table)
    assert sample.height <= MOST_POINTS
    assert sample["feature"].head(1000).equals(table["feature"].head(1000))
    assert 400 <= sample.filter(~pl.col("significant")).height <= 500


def test_all_significant_features_are_kept_where_they_fit(make_card: CardMaker) -> None:
    table = make_card([f"w{i}" for i in range(2100)]).tables["cues"]
    assert sample_for_map(table).filter("significant").height == table.filter("significant").height


def test_a_map_of_thousands_embeds_only_the_sample(make_card: CardMaker) -> None:
    card = make_card([f"w{i}" for i in range(5000)])
    spec = specified(card, "cues", "map")
    assert 1500 < len(points(spec)) <= MOST_POINTS


def test_the_strongest_cues_of_a_label_do_not_repeat_each_other(make_card: CardMaker) -> None:
    features = ["sleeping", "x", "y", "is sleeping", "x2", "y2", "cat", "x3", "y3", *"abcdef"]
    table = make_card(features).tables["cues"]
    assert strongest(table, "entailment", 5)["feature"].to_list() == ["sleeping", "cat", "a"]


def test_of_cues_that_occur_together_only_the_strongest_is_shown(make_card: CardMaker) -> None:
    table = make_card([f"w{i}" for i in range(12)]).tables["cues"]
    groups = ["w0", None, None, "w0", None, None, None, *[None] * 5]
    grouped = table.with_columns(group=pl.Series(groups, dtype=pl.String))
    assert strongest(grouped, "entailment", 5)["feature"].to_list() == ["w0", "w6"]


def test_names_of_other_families_may_share_words(make_card: CardMaker) -> None:
    table = make_card(["the", "x", "y", "only the premise", "z", "w"]).tables["cues"]
    other = table.with_columns(family=pl.lit("overlap"))
    assert strongest(other, "entailment", 5)["feature"].to_list() == ["the", "only the premise"]
    assert strongest(table, "entailment", 5)["feature"].to_list() == ["the"]


def test_the_test_share_is_that_of_the_label_pointed_to(card: Card) -> None:
    row = with_test_share(card.tables["cues"], card.dataset.labels).row(0, named=True)
    assert row["test_share"] == row[f"test_{row['label']}"] / row["test_count"]


def test_without_test_counts_the_test_share_is_missing(card: Card) -> None:
    table = card.tables["cues"].drop([c for c in card.tables["cues"].columns if c.startswith("test_")])
    assert with_test_share(table, card.dataset.labels)["test_share"].null_count() == table.height


def test_significance_begins_at_the_largest_significant_p_value_or_at_bonferroni(card: Card) -> None:
    table, outcome = card.tables["cues"], outcome_of(card, card["cues"])
    moved = table.with_columns(log10_p=pl.when("significant").then(pl.lit(-3.0)).otherwise("log10_p"))
    assert critical_p(outcome, moved) == pytest.approx(1e-3)
    none = table.with_columns(significant=pl.lit(False))
    assert critical_p(outcome, none) == pytest.approx(0.05 / (7 * 3))


def test_curves_of_length_have_the_same_area(card: Card) -> None:
    rows = points(specified(card, "overview", "length_of_the_premise"))
    assert sum(row["share"] for row in rows if row["label"] == "neutral") == pytest.approx(1.0)


def test_a_legend_of_a_narrow_chart_has_as_many_columns_as_fit():
    assert legend_columns(["yes", "no"]) == 2
    assert legend_columns(["CONTRADICTION", "ENTAILMENT", "NEUTRAL"]) == 2
    assert legend_columns(["x" * 60, "y"]) == 1
