"""How a column writes its values."""

from __future__ import annotations

import pytest

from cuecard.view import Column, KeyFigure


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_number_that_is_missing_is_a_dash(value: float | None) -> None:
    assert Column("ΔAcc", "points").write(value) == "–"
    assert Column("ΔAcc", "points").write(0.034) == "+3.4"


def test_one_thing_is_counted_in_the_singular():
    assert KeyFigure("cues gpt relies on", "1").label == "cue gpt relies on"
    assert KeyFigure("high findings", "1").label == "high finding"
    assert KeyFigure("cues gpt relies on", "12").label == "cues gpt relies on"
