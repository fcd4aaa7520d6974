from __future__ import annotations

import pytest

from cuecard.audits import Cues, explain
from cuecard.errors import UsageError
from small_sets import pair_instances

ROWS = [
    ("train", "p", "nobody sleeps" if i % 2 else "somebody sleeps", "yes" if i % 2 else "no")
    for i in range(40)
]
ROWS += [("test", "p", "everybody sleeps", "yes"), ("test", "p", "everybody runs", "no")]


def test_a_cue_seen_only_in_test_has_shares_and_no_association():
    told = explain(pair_instances(ROWS), "everybody")
    assert told.association is None
    assert told.touched == {"train": 0.0, "test": 1.0}
    of_test = told.shares.filter(split="test")
    assert dict(of_test.select("label", "count").iter_rows()) == {"no": 1, "yes": 1}
    assert told.shares.filter(split="train")["share"].to_list() == [None, None]


def test_a_feature_that_no_instance_has_is_said_to_be_absent():
    with pytest.raises(UsageError, match="No instance has the format 'emoji'"):
        explain(pair_instances(ROWS), "format:emoji")


def test_a_regular_expression_of_the_audit_can_be_explained():
    told = explain(pair_instances(ROWS), "regex:nobodies", audit=Cues(regex=(("nobodies", "^no"),)))
    assert (told.family, told.association["label"], told.association["share"]) == ("regex", "yes", 1.0)


def test_a_regular_expression_without_its_pattern_says_what_to_give():
    with pytest.raises(UsageError, match="--regex hedge=PATTERN"):
        explain(pair_instances(ROWS), "regex:hedge")


def test_a_misspelt_bigram_is_answered_with_a_frequent_one_of_its_length():
    rows = [("train", "p", f"word{i} other{i}", "yes" if i % 2 else "no") for i in range(60)]
    with pytest.raises(UsageError, match="'nobody sleeps'"):
        explain(pair_instances(ROWS + rows), "nobdy sleeps")
