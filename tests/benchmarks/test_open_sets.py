"""The short form of the calibration of open answers: clean sets are quiet, planted leaks lead."""

from __future__ import annotations

import pytest
from benchmarks.calibration.open_sets import CLEAN, LEAKS, alarms, cells, place_of

#: Shapes that differ: problems, few answers, passages; all are in `make calibration`.
SHAPES = ("templates with new answers", "20 answers", "passages")
SOME = (
    "one answer in a third",
    "topics with an answer",
    "templates with one answer",
    "first sentence in 30 %",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_clean_sets_have_no_finding(shape):
    assert sum(bool(alarms(shape, seed, test=seed % 2 == 1)) for seed in range(2, 5)) <= 1


@pytest.mark.parametrize("leak", SOME)
def test_a_planted_leak_leads(leak):
    assert place_of(leak, 1) == 1


def test_the_long_form_has_all_sets():
    assert len(list(cells(0.1, 0))) == 2 * len(CLEAN) + len(LEAKS)
