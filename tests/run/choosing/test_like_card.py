"""A remedy with the settings of an audit's card balances what the audit found."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuecard as cc
from cuecard.card import save_card
from cuecard.data.demo import demo_nli
from cuecard.errors import UsageError
from cuecard.run.debiasing import options_like


@pytest.fixture(scope="module")
def data():
    return demo_nli(1500, seed=1).instances


def test_tokens_scope_and_features_are_those_of_the_audit(data, tmp_path: Path) -> None:
    pytest.importorskip("nltk")
    card = cc.audit(data, only=["cues"], features=("word",), tokens="treebank", scope="premise", min_count=8)
    expected = {"features": ("significant",), "among": ("word",), "tokens": "treebank", "scope": "premise"}
    options = options_like(card, "lexical")
    assert {name: options[name] for name in expected} == expected
    assert options["min_count"] == 8
    save_card(card, tmp_path / "card")
    assert options_like(tmp_path / "card", "lexical") == options


def test_what_was_found_is_what_is_balanced(data) -> None:
    card = cc.audit(data, only=["cues"], features=("word", "length"), min_count=10)
    significant = card["cues"].table.filter("significant").select("family", "feature").rows()
    debiased = cc.debias(data, like=card, reaudit="none")
    summary = debiased.card["lexical_weights"].summary
    assert (summary["scope"], summary["tokens"]) == ("hypothesis", "default")
    balanced = debiased.card.tables["balance"].select("family", "feature").rows()
    left = debiased.card.tables["unbalanced"].select("family", "feature").rows()
    assert set(significant) == {*balanced, *left}


def test_options_go_before_the_card_and_other_methods_take_none(data) -> None:
    card = cc.audit(data, only=["cues"], features=("word",))
    chosen = cc.debias(data, like=card, scope="both", reaudit="none").card["lexical_weights"].summary
    assert chosen["scope"] == "both"
    with pytest.raises(UsageError, match="'lexical', not 'neutral'"):
        cc.debias(data, "neutral", like=card)
    bare = cc.audit(data, only=["overview"])
    with pytest.raises(UsageError, match="no finished audit 'cues'"):
        cc.debias(data, like=bare)
