"""How a column writes its values."""

from __future__ import annotations

import pytest

from cuecard.view import Column, KeyFigure, Written


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_number_that_is_missing_is_a_dash(value: float | None) -> None:
    assert Column("ΔAcc", "points").write(value) == "–"
    assert Column("ΔAcc", "points").write(0.034) == "+3.4"


def test_one_thing_is_counted_in_the_singular():
    assert KeyFigure("cues gpt relies on", "1").label == "cue gpt relies on"
    assert KeyFigure("high findings", "1").label == "high finding"
    assert KeyFigure("cues gpt relies on", "12").label == "cues gpt relies on"


def test_small_probabilities_are_said_to_be_small_and_sorted_and_copied_exactly() -> None:
    q = Column("q", "probability")
    assert [q.write(value) for value in (0.0312, 3e-12, 0.0)] == ["0.031", "<10⁻⁹", "<10⁻⁹"]
    assert q.sorted_by(3e-12) == "3e-12"
    assert Column("p", "log10_p").write(-40.0) == "<10⁻⁹"


def test_numbers_below_zero_have_a_minus_sign() -> None:
    assert [Column("z", kind).write(-1.5) for kind in ("decimal", "fine", "number")] == [
        "−1.50",
        "−1.500",
        "−1.5",
    ]


def test_a_cell_with_words_of_its_own_is_sorted_by_its_number() -> None:
    cell = Written("+2.9 points", 0.029)
    column = Column("Change", "number")
    assert (column.write(cell), column.sorted_by(cell)) == ("+2.9 points", "0.029")
    assert column.sorted_by(Written("too rare")) == ""
