"""What the test set says about cues of the training set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.audits import Cues


def texts(n: int, first: float, *, cue: float, seed: int) -> pl.DataFrame:
    """Return texts of two labels, of which one has the cue; nearly all that have it have that label."""
    rng = np.random.default_rng(seed)
    label = rng.random(n) < first
    having = rng.random(n) < np.where(label, cue, 0.002)
    words = rng.integers(0, 200, (n, 4))
    return pl.DataFrame(
        {
            "text": [
                f"{'nobody ' if has else ''}{' '.join(f'w{w}' for w in row)} x{seed} {i}"
                for i, (has, row) in enumerate(zip(having, words, strict=True))
            ],
            "label": np.where(label, "a", "b"),
        }
    )


@pytest.mark.parametrize("prior", [0.3, 0.6])
def test_shares_of_both_splits_together_lie_between_them(prior: float) -> None:
    data = cc.load(texts(3_000, 0.45, cue=0.2, seed=1), test=texts(1_000, prior, cue=0.2, seed=2))
    result = Cues(features=("word",)).run(data)
    held = result.tables["cues"].filter(pl.col("again_n") > 0)
    assert "nobody" in held["feature"]
    parts = held.select(
        low=pl.min_horizontal("adjusted_share", "again_at_chance"),
        high=pl.max_horizontal("adjusted_share", "again_at_chance"),
    )
    assert (held["held_share"] >= parts["low"] - 1e-12).all()
    assert (held["held_share"] <= parts["high"] + 1e-12).all()
    assert ((held["held_low"] <= held["held_share"]) & (held["held_share"] <= held["held_high"])).all()
    [finding] = [finding for finding in result.findings if finding.cue == "nobody"]
    assert finding.low <= finding.value <= finding.high


def test_all_rows_of_the_test_set_count_and_copies_only_widen_the_interval() -> None:
    train = texts(2_000, 0.5, cue=0.2, seed=3)
    test = texts(300, 0.5, cue=0.0, seed=4).filter(~pl.col("text").str.contains("nobody"))
    copies = pl.DataFrame({"text": ["nobody says a word"] * 5, "label": ["a", "b", "b", "a", "b"]})
    data = cc.load(train, test=pl.concat([test, copies]))
    result = Cues(features=("word",), min_count=3).run(data)
    row = result.tables["cues"].filter(feature="nobody").row(0, named=True)
    assert (row["again_n"], row["again_texts"], row["again_share"]) == (5, 1, 0.4)
    assert row["outcome"] == "open"
    [finding] = [finding for finding in result.findings if finding.cue == "nobody"]
    assert "In the test set: 40.0\xa0% of 5 (1 distinct text), too few to confirm it" in finding.text


def test_a_lost_cue_is_not_said_to_be_too_rare() -> None:
    rng = np.random.default_rng(5)
    test = texts(1_000, 0.5, cue=0.0, seed=6).with_columns(
        text=pl.when(pl.Series(rng.random(1_000) < 0.3)).then("nobody " + pl.col("text")).otherwise("text")
    )
    data = cc.load(texts(3_000, 0.5, cue=0.2, seed=7), test=test)
    sentence = cc.explain(data, "nobody").sentence
    assert "where it is lost" in sentence
    assert "too few" not in sentence


@pytest.mark.parametrize(
    ("train", "test"),
    [
        ("snli/dev", "snli/test"),
        ("sick/train", "sick/test"),
        ("openbookqa/train", "openbookqa/test"),
        ("copa/dev", "copa/test"),
    ],
)
def test_published_sets_have_pooled_shares_between_their_parts(
    train: str, test: str, real_data: Callable[[str], Path]
) -> None:
    data = cc.load(real_data(f"{train}.parquet"), test=real_data(f"{test}.parquet"))
    held = Cues(features=("word",)).run(data).tables["cues"].filter(pl.col("held_share").is_not_null())
    seen = held.filter(pl.col("again_n") > 0)
    parts = pl.concat_list("adjusted_share", "again_at_chance")
    between = pl.col("held_share").is_between(parts.list.min() - 1e-9, parts.list.max() + 1e-9)
    assert seen.select(between.all()).item()
    assert ((held["held_low"] <= held["held_share"]) & (held["held_share"] <= held["held_high"])).all()
    assert (seen["again_texts"] <= seen["again_n"]).all()
