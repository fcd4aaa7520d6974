"""How a column writes its values."""

from __future__ import annotations

import pytest

from cuecard.report.view import Column


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_number_that_is_missing_is_a_dash(value: float | None) -> None:
    assert Column("ΔAcc", "points").write(value) == "–"
    assert Column("ΔAcc", "points").write(0.034) == "+3.4"
