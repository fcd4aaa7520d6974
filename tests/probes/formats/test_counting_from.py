from __future__ import annotations

import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice
from cuecard.errors import InputError

DEMO = demo_choice(400, seed=0, cues=None)
KEYS = DEMO.instances.test.table.filter(pl.col("label") == "right").select(
    id="example_id", prediction="position"
)


def test_positions_of_choices_count_from_0():
    card = cc.probe(DEMO.instances, {"m": KEYS}, only=["accuracy_test"], features=("word",))
    assert card["accuracy_test"].summary["models"]["m"]["accuracy"] == 1.0


def test_positions_that_count_from_1_are_refused_rather_than_guessed():
    with pytest.raises(InputError, match="position from 0"):
        cc.probe(DEMO.instances, {"m": KEYS.with_columns(pl.col("prediction") + 1)}, features=("word",))


def test_a_set_without_cues_still_tells_how_good_the_model_is():
    card = cc.probe(DEMO.instances, {"m": KEYS}, features=("word",))
    assert card["cues"].summary["significant"] == 0
    assert "failed" not in {section.status for section in card.sections.values()}
    assert card["accuracy_test"].summary["models"]["m"]["accuracy"] == 1.0
