from __future__ import annotations

import json

import polars as pl
import pytest

from cuecard.data import load
from cuecard.data.demo import demo_choice, demo_nli, write_demo


@pytest.mark.parametrize("make", [demo_nli, demo_choice])
def test_stress_writes_two_sets_that_read_back_and_together_are_the_scored_examples(cuecard, tmp_path, make):
    # Of fewer examples, partial input gives none away.
    written = write_demo(make(3000, seed=0), tmp_path / "data")
    ran = cuecard("stress", written["train"], "--test", written["test"], "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    sizes = json.loads(ran.out)["examples"]
    hard, easy = (load(tmp_path / "out" / f"{part}.parquet", name=part) for part in ("hard", "easy"))
    assert hard.n_examples + easy.n_examples == sum(sizes.values())
    assert hard.n_examples > 0
    assert pl.read_parquet(tmp_path / "out" / "balance.parquet")["count"].sum() == sum(sizes.values())


def test_stress_says_what_is_wrong_in_one_sentence(cuecard, tmp_path):
    ran = cuecard("stress", tmp_path / "none.csv", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "none.csv" in ran.err
    assert not (tmp_path / "out").exists()
