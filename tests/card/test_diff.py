from __future__ import annotations

import json
import math

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


def test_new_and_stronger_cues_come_before_those_that_vanished(cards):
    other = demo_nli(3000, seed=2)
    again = cc.audit(other.instances, features=("word",), only=["cues", "overview"])
    [change] = compare([cards[2], again])
    gained = [cue.kind in ("new", "stronger", "turned") for cue in change.cues]
    assert gained[0]
    [turned] = compare([again, cards[2]])
    kinds = [cue.kind for cue in turned.cues]
    assert "gone" in kinds
    for order in (gained, [kind in ("new", "stronger", "turned") for kind in kinds]):
        assert order == sorted(order, reverse=True)


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


def with_summary(card, **values):
    section = card.sections["overview"]
    changed = section.model_copy(update={"summary": section.summary | values})
    return card.model_copy(update={"sections": card.sections | {"overview": changed}})


def changed_numbers(card, before, after):
    (found,) = compare([with_summary(card, made=before), with_summary(card, made=after)])
    return {c.what: (c.before, c.after, c.difference) for c in found.numbers}


@pytest.mark.parametrize(
    ("before", "after"),
    [(math.nan, 0.5), (0.5, math.nan), (math.inf, 0.5), (0.5, -math.inf), ([math.nan], [1.0])],
)
def test_from_no_number_to_a_number_is_a_change(cards, before, after):
    assert changed_numbers(cards[0], before, after)["made"][2] is None


@pytest.mark.parametrize("value", [math.nan, math.inf, [math.nan, 1.0], None, "text"])
def test_what_stays_as_it_is_is_no_change(cards, value):
    again = (
        float(str(value))
        if isinstance(value, float)
        else [float("nan"), 1.0]
        if isinstance(value, list)
        else value
    )
    assert changed_numbers(cards[0], value, again) == {}


def test_entries_that_differ_in_their_third_text_only_are_told_apart(cards):
    def entries(first):
        texts = {"family": "word", "feature": "not"}
        return [texts | {"label": "a", "share": first}, texts | {"label": "b", "share": 0.5}]

    assert changed_numbers(cards[0], entries(0.1), entries(0.2)) == {
        "made[word, not, a].share": (0.1, 0.2, pytest.approx(0.1))
    }


def test_entries_of_the_same_name_go_by_their_place(cards):
    def entries(first):
        return [{"name": "x", "share": first}, {"name": "x", "share": 0.5}, {"name": "y", "share": 0.5}]

    assert list(changed_numbers(cards[0], entries(0.1), entries(0.2))) == ["made[x, 0].share"]


def test_one_card_is_nothing_to_compare(cards):
    with pytest.raises(UsageError, match="at least two cards"):
        compare(cards[:1])
