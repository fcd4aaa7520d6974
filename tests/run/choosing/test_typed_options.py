from __future__ import annotations

import pytest

import cuecard as cc
from cuecard.data.demo import demo_nli, demo_predictions
from cuecard.errors import UsageError

DEMO = demo_nli(600, seed=3)
DATA = DEMO.instances


def content(card):
    found = card.model_dump(exclude={"provenance"})
    return found, {name: table.to_dicts() for name, table in card.tables.items()}


def test_audits_as_objects_give_the_card_of_their_names_and_options():
    typed = cc.audit(DATA, audits=[cc.Overview(), cc.Cues(min_count=20)])
    assert content(typed) == content(cc.audit(DATA, only=["overview", "cues"], min_count=20))
    assert typed["cues"].parameters["min_count"] == 20


def test_probes_as_objects_give_the_card_of_their_names_and_options():
    model = demo_predictions(DEMO, follow=0.5)
    typed = cc.probe(
        DATA, model, probes=[cc.PermutationTest(stratify="label")], audit=cc.Cues(features=("word",))
    )
    by_name = cc.probe(DATA, model, only=["permutation_test"], stratify="label", features="word")
    assert content(typed) == content(by_name)


def test_a_remedy_as_an_object_gives_the_weights_of_its_name_and_options():
    typed = cc.debias(DATA, cc.LexicalWeights(min_count=30, reaudit=()))
    by_name = cc.debias(DATA, "lexical", min_count=30, reaudit=())
    assert typed.weights.tolist() == by_name.weights.tolist()
    assert content(typed.card) == content(by_name.card)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"audits": [cc.Cues()], "only": ["cues"]}, "leave out only"),
        ({"audits": [cc.Cues()], "min_count": 5}, "leave out min_count"),
        ({"audits": [cc.Cues]}, r"cuecard.Cues\(min_count=10\)"),
        ({"audits": ["cues"]}, r"only=\["),
        ({"audits": [cc.Cues(), cc.Cues(min_count=9)]}, "'cues' twice"),
    ],
)
def test_objects_and_names_do_not_mix(wrong, message):
    with pytest.raises(UsageError, match=message):
        cc.audit(DATA, **wrong)


def test_a_remedy_as_an_object_takes_no_options_beside_it():
    with pytest.raises(UsageError, match="leave out min_count"):
        cc.debias(DATA, cc.LexicalWeights(), min_count=3)
