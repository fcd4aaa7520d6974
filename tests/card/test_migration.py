"""Cards that an earlier version wrote are read, with measures where their summaries tell them."""

from __future__ import annotations

import json

import pytest

import cuecard as cc
from cuecard.card import compare, join_cards, load_card, save_card
from cuecard.data.demo import demo_nli, demo_predictions


@pytest.fixture(scope="module")
def card():
    demo = demo_nli(900, seed=1)
    audited = cc.audit(demo.instances, only=["overview", "cues", "pair_graph"], features=("word",))
    probed = cc.probe(
        demo.instances, {"m": demo_predictions(demo)}, only=["accuracy_test"], features=("word",)
    )
    return join_cards([audited, probed])


def as_version_1(file):
    """Rewrite a card as the first schema had it: without measures, what sections are about, and ids."""
    document = json.loads(file.read_text())
    document["cuecard"] = "1"
    for section in document["sections"].values():
        for new in ("about", "settled", "measures"):
            del section[new]
    for finding in document["findings"]:
        for new in ("id", "unit", "counted"):
            del finding[new]
    return document


def test_an_old_card_gets_the_measures_that_a_new_one_has(card, tmp_path):
    file = save_card(card, tmp_path)
    file.write_text(json.dumps(as_version_1(file)))
    old = load_card(tmp_path)
    assert old.measures.equals(card.measures)
    assert old.dataset.notes == card.dataset.notes
    assert {n: s.about for n, s in old.sections.items()} == {n: s.about for n, s in card.sections.items()}
    assert all(finding.id for finding in old.findings)
    (changed,) = compare([old, card])
    assert not changed.measures


def test_what_cannot_be_derived_is_named_and_the_rest_is_read(card, tmp_path):
    file = save_card(card, tmp_path)
    document = as_version_1(file)
    document["sections"]["mine"] = {"title": "Mine", "status": "done", "summary": {"x": 1}}
    del document["sections"]["overview"]["summary"]["splits"]
    file.write_text(json.dumps(document))
    old = load_card(tmp_path)
    assert "overview, mine have no measures" in old.dataset.notes[-1]
    assert old.measure("cues.cues") == card.measure("cues.cues")
    assert old["mine"].measures == []
