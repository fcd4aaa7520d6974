from __future__ import annotations

import polars as pl
import pytest

from cuecard.text.annotate import get_annotator


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("He is not here.", True),
        ("They never came.", True),
        ("You can't go.", True),
        ("You can’t go.", True),
        ("I cannot say.", True),
        ("A garden doesnt allow it.", True),
        ("We were no longer trying.", True),
        ("There is no dog.", False),
        ("Nobody came.", False),
        ("A knot in the rope.", False),
        ("", False),
    ],
)
def test_negation_is_told_by_words(text: str, negated: bool) -> None:
    assert bool(get_annotator("en").annotate(pl.Series([text])).negation[0]) is negated


def test_a_pair_does_not_reach_over_the_end_of_a_text() -> None:
    texts = pl.Series(["He said no", "longer ropes are here"])
    assert get_annotator("en").annotate(texts).negation.tolist() == [False, False]
