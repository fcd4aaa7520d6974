"""Every verb in Python takes data the same way: loaded, a file or a table with its test split, or a function."""

from __future__ import annotations

import inspect

import polars as pl
import pytest

import cuecard as cc
from cuecard.card.policy import Limit, Policy, Rule
from cuecard.errors import UsageError
from small_sets import pair_instances

POLICY = Policy((Rule("overview.repeated", (Limit.parsed(">= 0"),), line=1),), source="test")


def frame(rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "premise": [f"a premise {i}" for i in range(rows)],
            "hypothesis": [f"a word{i % 7} sentence {i}" for i in range(rows)],
            "label": ["yes" if i % 2 else "no" for i in range(rows)],
        }
    )


VERBS = {
    "audit": lambda data, **test: cc.audit(data, only=["overview"], **test).dataset.splits,
    "check": lambda data, **test: cc.check(data, POLICY, **test).card.dataset.splits,
    "debias": lambda data, **test: cc.debias(data, min_count=5, reaudit=(), **test).card.dataset.splits,
    "plan": lambda data, **test: cc.plan(data, "cues.cues >= 0", **test).data.splits,
    "train": lambda data, **test: cc.train(data, "linear", **test).predictions,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_table_and_a_file_are_read_with_their_test_split(verb, tmp_path):
    frame(60).write_csv(tmp_path / "train.csv")
    frame(30).write_csv(tmp_path / "test.csv")
    assert set(VERBS[verb](frame(60), test=frame(30))) == {"train", "test"}
    assert set(VERBS[verb](tmp_path / "train.csv", test=tmp_path / "test.csv")) == {"train", "test"}
    assert set(VERBS[verb](frame(60))) == {"train"}


@pytest.mark.parametrize("verb", VERBS)
def test_a_test_split_beside_a_function_is_an_error_instead_of_being_ignored(verb):
    data = pair_instances([("train", f"p{i}", f"h{i % 3}", "yes" if i % 2 else "no") for i in range(40)])
    with pytest.raises(UsageError, match=r"loaded already: give its test split to cuecard\.load"):
        VERBS[verb](lambda: data, test=frame(30))


@pytest.mark.parametrize("verb", ["audit", "probe", "check", "debias", "plan", "train", "ask", "explain"])
def test_every_verb_takes_the_test_split_by_the_same_name(verb):
    assert "test" in inspect.signature(getattr(cc, verb)).parameters


def test_a_card_is_judged_without_a_test_split():
    card = cc.audit(frame(60), only=["overview"])
    with pytest.raises(UsageError, match="leave out test"):
        cc.check(card, POLICY, test=frame(30))


def test_an_empty_goal_is_answered_with_what_to_write():
    with pytest.raises(UsageError, match="The goal '' is not a limit: write one such as"):
        cc.plan(frame(60), "")
