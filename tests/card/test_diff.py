from __future__ import annotations

import json

import pytest

import cuecard as cc
from cuecard.card import compare
from cuecard.data.demo import demo_nli, demo_predictions
from cuecard.errors import UsageError


@pytest.fixture(scope="module")
def cards():
    demo = demo_nli(3000, seed=1)
    clean = demo_nli(3000, seed=1, cues=None)
    options = {"features": ("word",), "only": ["cues", "overview"]}
    return [cc.audit(part.instances, **options) for part in (demo, demo, clean)]


def test_equal_cards_are_unchanged_and_a_removed_cue_is_gone(cards):
    same, cleaned = compare(cards, ["v1", "v1 again", "v2"])
    assert same.unchanged
    assert not cleaned.unchanged
    assert not cleaned.same_data
    assert ("gone", "indeed") in {(cue.kind, cue.feature) for cue in cleaned.cues}
    assert any("indeed" in title for title in cleaned.findings_gone)
    (significant,) = [c for c in cleaned.numbers if c.section == "cues" and c.what == "significant"]
    assert significant.difference < 0


def test_a_comparison_is_json(cards):
    plain = json.loads(json.dumps([part.as_dict() for part in compare(cards)]))
    assert plain[0]["unchanged"] is True
    assert plain[1]["numbers"][0].keys() >= {"section", "what", "before", "after", "difference"}


def test_options_and_sections_that_differ_are_named(cards):
    demo = demo_nli(3000, seed=1)
    other = cc.audit(demo.instances, features=("word",), only=["cues"], min_count=9)
    (changed,) = compare([cards[0], other])
    assert changed.same_data
    found = {(c.section, c.what): (c.before, c.after) for c in changed.sections}
    assert found["cues", "option min_count"] == (5, 9)
    assert found["overview", "status"] == ("done", None)


def test_models_on_two_probe_cards_are_compared():
    demo = demo_nli(9000, seed=1)
    options = {"features": ("word",), "only": ["reliance", "accuracy_test"]}
    before, after = (
        cc.probe(demo.instances, {"m": demo_predictions(demo, follow=f, seed=1)}, **options)
        for f in (0.8, 0.0)
    )
    (changed,) = compare([before, after])
    moved = {c.what: c.difference for c in changed.numbers if c.section == "reliance"}
    assert moved["models.m.relies"] < 0


def test_one_card_is_nothing_to_compare(cards):
    with pytest.raises(UsageError, match="at least two cards"):
        compare(cards[:1])
