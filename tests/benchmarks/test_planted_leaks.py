"""Everyday leaks are stated by one of the first three findings of a default audit; clean sets have none."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration.planted_leaks import LEAKS, place_of, planted_leaks, text_pairs

from cuecard import audit
from cuecard.data import load

#: Kinds that differ: a character, a column, a place, copies, a rule; all are in `make calibration`.
SOME = ("non-breaking", "time of day", "second choice", "hyphens", "in its offers", "in the premise,")


@pytest.mark.parametrize("leak", [leak for leak in LEAKS if any(name in leak.name for name in SOME)], ids=str)
def test_a_planted_leak_is_among_the_first_three_findings(leak):
    data = leak.draw(np.random.default_rng(1), leak.n)
    found = place_of(leak, audit(data, skip=["clusters", "pair_graph"]).findings)
    assert found.place is not None
    assert found.place <= 3


def test_every_leak_has_a_name_of_its_own_and_the_short_form_has_some():
    assert len({leak.name for leak in LEAKS}) == len(LEAKS) >= 20
    assert next(planted_leaks(0.1)).leak == LEAKS[0].name


def test_the_base_of_the_sets_has_no_finding():
    rng = np.random.default_rng(2)
    labels = np.where(rng.integers(0, 2, 1_000) == 1, "yes", "no").tolist()
    card = audit(load(text_pairs(rng, 1_000, label=labels)), skip=["clusters"])
    assert [f.title for f in card.findings if f.severity != "info"] == []
