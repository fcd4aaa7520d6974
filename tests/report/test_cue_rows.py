from __future__ import annotations

import pytest

from cuecard.report.cue_rows import saying_something_new


@pytest.mark.parametrize(
    ("family", "feature"),
    [("bigram", "is sleeping"), ("trigram", "man is sleeping"), ("4-gram", "a man is sleeping")],
)
def test_more_words_around_a_cue_say_nothing_new(family: str, feature: str) -> None:
    assert saying_something_new(["word", family], ["sleeping", feature]) == [0]


def test_a_name_that_is_not_made_of_words_of_the_text_is_kept() -> None:
    assert saying_something_new(["word", "length"], ["tokens", "up to 5 tokens"]) == [0, 1]
