from __future__ import annotations

import polars as pl
import pytest

from cuecard.audits.cues.view import saying_something_new, with_test_share


@pytest.mark.parametrize(
    ("family", "feature"),
    [("bigram", "is sleeping"), ("trigram", "man is sleeping"), ("4-gram", "a man is sleeping")],
)
def test_more_words_around_a_cue_say_nothing_new(family: str, feature: str) -> None:
    assert saying_something_new(["word", family], ["sleeping", feature]) == [0]


def test_a_name_that_is_not_made_of_words_of_the_text_is_kept() -> None:
    assert saying_something_new(["word", "length"], ["tokens", "up to 5 tokens"]) == [0, 1]


def test_the_test_share_of_a_question_counts_only_choices_that_differ() -> None:
    row = {"label": "right", "direction": "points to", "train_count": 30, "share_n": 20.0, "test_count": 10}
    row |= {"test_right": 5, "test_wrong": 5, "again_n": 4.0, "again_share": 0.75}
    shown = with_test_share(
        pl.DataFrame([row, row | {"again_n": None, "again_share": None}]), ["right", "wrong"]
    )
    assert shown["test_share"].to_list() == [0.75, None]
    assert shown["test_count"].to_list() == [4, 10]
    alone = pl.DataFrame([row | {"share_n": 30.0}])
    assert with_test_share(alone, ["right", "wrong"])["test_share"].to_list() == [0.5]
