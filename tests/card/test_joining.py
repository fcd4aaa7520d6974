from __future__ import annotations

import pytest

import cuecard as cc
from cuecard.card import join_cards
from cuecard.data.demo import demo_nli, demo_predictions
from cuecard.errors import UsageError


@pytest.fixture(scope="module")
def cards():
    demo = demo_nli(1500, seed=1)
    audit = cc.audit(demo.instances, only=["overview", "cues"], features=("word",))
    probe = cc.probe(demo.instances, {"m": demo_predictions(demo, 0.6)}, features=("word",), min_count=9)
    return audit, probe


def test_one_card_has_the_sections_tables_and_findings_of_all_and_the_first_wins(cards):
    audit, probe = cards
    joined = join_cards(cards, command="both")
    assert list(joined.sections) == [*audit.sections, *(n for n in probe.sections if n not in audit.sections)]
    assert joined["cues"].parameters["min_count"] == 5
    assert joined["cues"].table.equals(audit["cues"].table)
    assert joined["reliance"].table.equals(probe["reliance"].table)
    titles = [(f.section, f.title) for f in joined.findings]
    assert len(titles) == len(set(titles))
    assert {(f.section, f.title) for card in cards for f in card.findings} == set(titles)
    assert joined.provenance.command == "both"


def test_columns_about_examples_stand_side_by_side(cards):
    examples = join_cards(cards).tables["examples"]
    assert examples.height == cards[0].tables["examples"].height
    assert {"prediction m", "right m"} <= set(examples.columns)
    test = examples.filter(examples["split"].cast(str) == "test")
    assert test["right m"].null_count() == 0


def test_cards_about_other_data_are_not_joined(cards):
    other = cc.audit(demo_nli(900, seed=2).instances, only=["overview"])
    with pytest.raises(UsageError, match="same data"):
        join_cards([cards[0], other])
