"""Identical pairs: what is written, what is read back, and Tukey's boxes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.probes import box_statistics, identical_pairs, score_identical_pairs


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


class LongerIsSurer:
    def predict_proba(self, premises: Sequence[str], hypotheses: Sequence[str]) -> np.ndarray:
        assert list(premises) == list(hypotheses)
        score = np.array([min(len(p) / 4, 1.0) for p in premises])
        return np.column_stack([1 - score, score])


def test_a_model_object_is_run_and_a_file_is_read_back_to_the_same_boxes(tmp_path: Path) -> None:
    pairs = identical_pairs(dataset())
    scored = score_identical_pairs(pairs, {"m": LongerIsSurer()}, label=1, batch=2)
    assert scored.filter(example_id=pairs.filter(premise="a b")["example_id"].item())["score"].item() == 0.75
    scored.write_parquet(tmp_path / "scores.parquet")
    read = pl.read_parquet(tmp_path / "scores.parquet")
    assert box_statistics(read).equals(box_statistics(scored))


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
    pairs = pl.DataFrame({"example_id": ["i"], "premise": ["aa"], "hypothesis": ["aa"], "frequency": [3]})
    scored = score_identical_pairs(pairs, {"biased": LongerIsSurer(), "a": LongerIsSurer()}, label=0)
    assert box_statistics(scored)["model"].to_list() == ["biased", "a"]


def test_scores_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match="score is missing"):
        box_statistics(pl.DataFrame({"frequency": [1]}))
    with pytest.raises(InputError, match="no score"):
        box_statistics(
            pl.DataFrame({"frequency": [1], "score": [None]}, schema_overrides={"score": pl.Float64})
        )
    pairs = pl.DataFrame({"example_id": ["i"], "premise": ["aa"], "hypothesis": ["aa"], "frequency": [3]})
    with pytest.raises(InputError, match="more than 5 columns"):
        score_identical_pairs(pairs, {"m": LongerIsSurer()}, label=5)
