"""Identical pairs: what is written, what is read back, and Tukey's boxes."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.probes import box_statistics
from cuecard.probes.identical_pair_scores import identical_pairs


def dataset() -> Instances:
    table = pl.DataFrame(
        {
            "example_id": ["1", "2", "3", "4"], "position": 0, "split": ["train", "train", "train", "test"],
            "premise": ["a b", "a b", "c", "never"], "hypothesis": ["c", "d", "", "seen"],
            "label": pl.Series(["x", "y", "x", "y"]).cast(pl.Enum(["x", "y"])),
        }
    )  # fmt: skip
    return Instances(table, "pair", ("x", "y"))


def test_every_train_sentence_is_paired_with_itself_once() -> None:
    pairs = identical_pairs(dataset())
    assert (pairs["premise"] == pairs["hypothesis"]).all()
    assert dict(pairs.select("premise", "frequency").iter_rows()) == {"a b": 2, "c": 2, "d": 1}


def test_a_sample_keeps_frequent_sentences() -> None:
    n = 500
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)], "position": 0, "split": "train",
            "premise": [f"p{i}" for i in range(n)], "hypothesis": [f"h{i % 2 if i < 8 else i}" for i in range(n)],
            "label": pl.Series(["x"] * n).cast(pl.Enum(["x", "y"])),
        }
    )  # fmt: skip
    pairs = identical_pairs(Instances(table, "pair", ("x", "y")), sample=20)
    assert pairs.height == 20
    assert (pairs["frequency"] == 4).sum() == 2


def test_boxes_are_tukeys() -> None:
    scores = pl.DataFrame(
        {"frequency": [1] * 9 + [12, 30], "score": [0.0, 0.4, 0.5, 0.5, 0.55, 0.6, 0.6, 0.7, 1.0, 0.2, 0.4]}
    )
    low, last = box_statistics(scores).iter_rows(named=True)
    assert (low["q1"], low["median"], low["q3"]) == pytest.approx((0.5, 0.55, 0.6))
    assert (low["low"], low["high"], low["outliers"]) == (0.4, 0.7, 2)
    assert low["matched"] == pytest.approx(7 / 9)
    assert (last["frequency"], last["n"], last["mean"]) == (10, 2, pytest.approx(0.3))


def test_one_series_of_boxes_per_model_in_the_order_given() -> None:
    scored = pl.DataFrame({"model": ["biased", "a"], "frequency": [3, 3], "score": [0.5, 0.7]})
    assert box_statistics(scored)["model"].to_list() == ["biased", "a"]


def test_scores_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match="score is missing"):
        box_statistics(pl.DataFrame({"frequency": [1]}))
    with pytest.raises(InputError, match="no score"):
        box_statistics(
            pl.DataFrame({"frequency": [1], "score": [None]}, schema_overrides={"score": pl.Float64})
        )
