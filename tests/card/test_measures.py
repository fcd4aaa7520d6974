from __future__ import annotations

import io

import pytest
from rich.console import Console

import cuecard as cc
from cuecard.analysis import Measure
from cuecard.card import Section, compare
from cuecard.card.card import shortcuts, slices
from cuecard.data.demo import demo_nli, demo_predictions
from cuecard.errors import UsageError
from cuecard.report import render_comparison


@pytest.fixture(scope="module")
def probed():
    demo = demo_nli(6000, seed=1)
    models = {"m": demo_predictions(demo, 0.8, seed=1), "even": demo_predictions(demo, 0.0, seed=2)}
    return cc.probe(demo.instances, models, features=("word", "negation"))


def test_models_have_one_measure_each_with_unit_and_direction(probed):
    accuracy = probed.measure("accuracy_test.accuracy.m")
    assert (accuracy.unit, accuracy.worse, accuracy.label) == ("share", "lower", "accuracy of m")
    assert accuracy.low < accuracy.value < accuracy.high
    assert probed.measure("permutation_test.p.m").unit == "p"
    assert probed.measure("reliance.relies.even").value == 0
    (pair,) = slices(probed, "agreement.nba")
    assert sorted(pair.split(".")) == ["even", "m"]


def test_the_frame_of_measures_has_a_row_for_each(probed):
    frame = probed.measures
    assert frame.columns == [
        "name",
        "section",
        "label",
        "value",
        "low",
        "high",
        "chance",
        "n",
        "unit",
        "worse",
    ]
    assert frame["name"].is_unique().all()
    assert frame.filter(name="accuracy_test.accuracy.m")["section"].to_list() == ["accuracy_test"]
    assert frame.height == sum(len(section.measures) for section in probed.sections.values())


def test_an_unknown_measure_is_answered_with_near_ones(probed):
    with pytest.raises(UsageError, match=r"Did you mean 'accuracy_test\.accuracy\.m'"):
        probed.measure("accuracy_test.accuracy.n")


def test_every_baseline_has_an_accuracy_and_every_shortcut_an_excess():
    card = cc.audit(demo_nli(600, seed=1).instances, only=["partial_input"])
    for line in card["partial_input"].summary["baselines"]:
        measure = card.measure(f"partial_input.{line['name']}.accuracy")
        assert measure.value == line["accuracy"]
        assert (measure.worse == "higher") == (line["kind"] in ("partial", "content-blind"))
    accuracy, excess = (
        card.measure(f"partial_input.hypothesis_only.{name}") for name in ("accuracy", "excess")
    )
    assert excess.value == pytest.approx(accuracy.value - accuracy.chance)
    line = next(one for one in card["partial_input"].summary["baselines"] if one["name"] == "hypothesis_only")
    assert (excess.low, excess.high) == (line["excess_low"], line["excess_high"])
    assert excess.low < accuracy.low - accuracy.chance  # the majority share is that of a sample, too


def test_shortcuts_are_ordered_by_what_they_give_away(probed):
    def accuracy(name, value, low, chance, **other):
        return Measure(name, value, low, None, chance, unit="share", **({"worse": "higher"} | other))

    mine = Section(
        title="Mine",
        status="done",
        measures=[
            accuracy("mine.small", 0.8, 0.7, 0.6),
            accuracy("mine.large", 0.7, 0.6, 0.2),
            accuracy("mine.at_chance", 0.9, 0.5, 0.5),
            accuracy("mine.wanted", 0.99, 0.98, 0.2, worse="lower"),
        ],
    )
    of_model = mine.model_copy(update={"about": "models"})
    card = probed.model_copy(update={"sections": {"mine": mine, "other": of_model}})
    assert [m.name for m in shortcuts(card)] == ["mine.large", "mine.small"]
    assert shortcuts(card)[0].gain == pytest.approx(0.5)


def test_a_comparison_has_few_measures_and_all_numbers(probed):
    demo = demo_nli(6000, seed=1)
    after = cc.probe(
        demo.instances, {"m": demo_predictions(demo, 0.0, seed=1)}, features=("word", "negation")
    )
    (changed,) = compare([probed, after])
    said = {c.what: c for c in changed.measures}
    assert said["cues m relies on"].difference < 0
    assert said["accuracy of even"].after is None
    assert said["accuracy of m"].measure == "accuracy_test.accuracy.m"
    assert len(changed.measures) < len(changed.numbers)


def test_the_p_value_of_clusters_is_compared_as_one_and_lists_are_written_as_words():
    data = demo_nli(600, seed=1).instances
    plain, changed = (
        cc.audit(data, only=["clusters"], map="none", transformations=changes)
        for changes in ((), ("masked_nouns",))
    )
    p = plain.measure("clusters.p")
    assert p.unit == "p"
    assert 10**p.value == pytest.approx(plain["clusters"].summary["p_value"])
    console = Console(width=100, record=True, file=io.StringIO())
    for comparison in compare([plain, changed], ["plain", "changed"]):
        render_comparison(comparison, console)
    shown = console.export_text()
    assert "masked_nouns" in shown
    assert "['" not in shown
