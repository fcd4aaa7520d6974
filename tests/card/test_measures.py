from __future__ import annotations

import io

import pytest
from rich.console import Console

import cuecard as cc
from cuecard.card import Section, compare
from cuecard.card.measures import measures
from cuecard.data.demo import demo_nli, demo_predictions
from cuecard.report import render_comparison


@pytest.fixture(scope="module")
def probed():
    demo = demo_nli(6000, seed=1)
    models = {"m": demo_predictions(demo, 0.8, seed=1), "even": demo_predictions(demo, 0.0, seed=2)}
    return cc.probe(demo.instances, models, features=("word", "negation"))


def test_models_have_one_row_per_measure(probed):
    found = {(m.section, m.name): m for m in measures(probed)}
    assert found["accuracy_test", "m: accuracy"].kind == "percent"
    assert found["permutation_test", "m: p of the permutation test"].kind == "log10_p"
    assert found["reliance", "even: cues relied on"].value == 0
    assert found["agreement", "even and m: same answer"].kind == "percent"
    assert len(found) < 30


def test_baselines_have_one_row_each():
    card = cc.audit(demo_nli(600, seed=1).instances, only=["partial_input"])
    names = [m.name for m in measures(card)]
    assert "hypothesis_only accuracy" in names
    assert len(names) == len(card["partial_input"].summary["baselines"])


def test_sections_of_plug_ins_tell_their_plain_numbers(probed):
    plug_in = Section(
        title="Mine", status="done", summary={"leak_rate": 0.5, "nested": {"n": 1}, "done": True}
    )
    card = probed.model_copy(update={"sections": {"mine": plug_in}})
    assert [(m.name, m.value) for m in measures(card)] == [("leak rate", 0.5)]


def test_a_comparison_has_few_measures_and_all_numbers(probed):
    demo = demo_nli(6000, seed=1)
    after = cc.probe(
        demo.instances, {"m": demo_predictions(demo, 0.0, seed=1)}, features=("word", "negation")
    )
    (changed,) = compare([probed, after])
    said = {c.what: c for c in changed.measures}
    assert said["m: cues relied on"].difference < 0
    assert said["even: accuracy"].after is None
    assert len(changed.measures) < len(changed.numbers) / 2


def test_the_p_value_of_clusters_is_compared_as_one_and_lists_are_written_as_words():
    data = demo_nli(600, seed=1).instances
    plain, changed = (
        cc.audit(data, only=["clusters"], map="none", transformations=changes)
        for changes in ((), ("masked_nouns",))
    )
    p = next(m for m in measures(plain) if m.name == "p of PECO")
    assert p.kind == "log10_p"
    assert 10**p.value == pytest.approx(plain["clusters"].summary["p_value"])
    console = Console(width=100, record=True, file=io.StringIO())
    for comparison in compare([plain, changed], ["plain", "changed"]):
        render_comparison(comparison, console)
    shown = console.export_text()
    assert "masked_nouns" in shown
    assert "['" not in shown
