"""Folds by connected sentences: a sentence's frequency must not give away what its other pairs are."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.audits import PairGraphAudit
from cuecard.audits.pair_graph.scores import trial
from cuecard.data import Instances, load


def own_rates(seed: int, premises: int = 40) -> Instances:
    """Return pairs of premises that have a frequency and a rate of labels of their own, drawn independently."""
    rng = np.random.default_rng(seed)
    rows = []
    for premise in range(premises):
        rate = rng.beta(1.2, 1.2)
        for _ in range(5 + premise):
            words = " ".join(f"h{word}" for word in rng.integers(0, 9_000, 7))
            rows.append((f"the premise p{premise} q{premise * 7}", words, "ab"[int(rng.random() < rate)]))
    return load(pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row"))


def test_frequencies_that_only_name_a_sentence_are_no_leak() -> None:
    p_values = [
        PairGraphAudit().run(own_rates(seed)).summary["intervals"]["leakage"]["p_value"] for seed in range(12)
    ]
    assert sum(p <= 0.05 for p in p_values) <= 2  # each of twelve with folds of single pairs


def test_the_interval_allows_for_what_connected_pairs_have_in_common() -> None:
    summary = PairGraphAudit().run(own_rates(0)).summary
    leakage = summary["intervals"]["leakage"]
    assert leakage["low"] < summary["accuracy"]["majority"] < leakage["high"]
    assert leakage["high"] - leakage["low"] > 0.12
    assert summary["folds"]["grouping"] == "sentence"


def test_similar_texts_whose_labels_do_not_agree_are_observations_of_their_own() -> None:
    rng = np.random.default_rng(3)
    words = [f"w{word}" for word in range(60)]

    def text() -> str:
        return " ".join(rng.choice(words, 8))

    premises = [text() for _ in range(40)]
    frame = pl.DataFrame(
        {
            "premise": [str(rng.choice(premises)) if i % 2 else text() for i in range(300)],
            "hypothesis": [text() for _ in range(300)],
            "label": rng.choice(["a", "b"], 300),
        }
    )
    asked = trial(load(frame), forest="fast", folds=5, seed=0)
    assert asked.groups is not None
    assert asked.kept_together is not None
    assert len(np.unique(asked.groups)) > 3 * len(np.unique(asked.kept_together.groups))
    leakage = PairGraphAudit().run(load(frame)).summary["intervals"]["leakage"]
    assert leakage["auc_high"] - leakage["auc_low"] < 0.25


def test_edits_of_one_source_with_one_label_are_one_observation() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(80):
        source, label = rng.integers(0, 300, 12), str(rng.choice(["a", "b"]))
        for _ in range(3):
            edited = np.where(rng.random(12) < 0.3, rng.integers(0, 300, 12), source)
            texts = (" ".join(f"w{word}" for word in some) for some in (rng.integers(0, 300, 9), edited))
            rows.append((*texts, label))
    data = load(pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row"))
    asked = trial(data, forest="fast", folds=5, seed=0)
    assert asked.groups is not None
    assert len(np.unique(asked.groups)) < 120


def test_connected_pairs_are_scored_by_one_forest() -> None:
    data = own_rates(1)
    asked = trial(data, forest="fast", folds=5, seed=0)
    folds = (
        data.table.select("premise")
        .with_columns(fold=asked.fold)
        .group_by("premise")
        .agg(pl.col("fold").n_unique())
    )
    assert folds["fold"].max() == 1


def test_a_frequency_that_predicts_the_label_of_other_sentences_is_still_found() -> None:
    rng = np.random.default_rng(2)
    rows = []
    for premise in range(400):
        often = premise % 2
        for _ in range(1 + 3 * often):
            words = " ".join(f"h{word}" for word in rng.integers(0, 9_000, 7))
            label = "ab"[int(rng.random() < (0.75 if often else 0.25))]
            rows.append((f"the premise p{premise} q{premise * 7}", words, label))
    result = PairGraphAudit().run(
        load(pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row"))
    )
    assert result.summary["intervals"]["leakage"]["p_value"] < 1e-6
    assert result.summary["intervals"]["leakage"]["direction"] == "above"


@pytest.mark.parametrize("column", [None, "writer"])
def test_a_column_of_clusters_keeps_pairs_together(column: str | None) -> None:
    rows = [
        {"premise": f"p{i} w", "hypothesis": f"h{i} v", "label": "ab"[i % 2], "writer": f"x{i // 40}"}
        for i in range(400)
    ]
    data = load(pl.DataFrame(rows), cluster=column)
    asked = trial(data, forest="fast", folds=5, seed=0)
    spread = (
        data.table.with_columns(fold=asked.fold).group_by("writer").agg(pl.col("fold").n_unique())["fold"]
    )
    assert (spread.max() == 1) is (column is not None)
