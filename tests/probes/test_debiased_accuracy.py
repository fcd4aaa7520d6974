"""The debiased evaluation of models: leakage-neutral or own weights, honest about how rough it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.probes import DebiasedEvaluation, Predictions
from cuecard.run import probe
from cuecard.stats.weighted import weighted_change

ONLY: dict[str, Any] = {"only": ["debiased_evaluation"], "features": ("word",)}


def leaky(n_train: int = 2000, n_test: int = 3000, seed: int = 0) -> Instances:
    """Return pairs whose second sentence is repeated more often where the label is yes, and a `weight` column."""
    rng = np.random.default_rng(seed)
    n = n_train + n_test
    label = rng.integers(0, 2, n)
    repeated = rng.random(n) < np.where(label == 1, 0.8, 0.3)
    second = [f"h{rng.integers(0, 60)}" if again else f"new {i}" for i, again in enumerate(repeated)]
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)], "position": 0, "split": ["train"] * n_train + ["test"] * n_test,
            "premise": [f"p{i} tall" for i in range(n)], "hypothesis": second,
            "label": pl.Series(np.where(label == 1, "yes", "no")).cast(pl.Enum(["yes", "no"])),
            "mine": 1.0 + 2.0 * label, "repeated": repeated,
        }
    )  # fmt: skip
    return Instances(table, "pair", ("yes", "no"))


def models(data: Instances) -> list[Predictions]:
    """Return a model that follows the leak, and one that is right on a random 75 %."""
    assert data.test is not None
    table = data.test.table
    gold = data.test.label_codes.astype(np.int64)
    rng = np.random.default_rng(1)
    follower = np.where(table["repeated"].to_numpy(), 0, 1)
    reader = np.where(rng.random(len(gold)) < 0.75, gold, 1 - gold)
    return [Predictions("follower", follower), Predictions("reader", reader)]


def test_a_model_that_follows_the_leak_falls_to_chance_and_one_that_reads_does_not() -> None:
    data = leaky()
    card = probe(data, models(data), **ONLY)
    found = card["debiased_evaluation"].summary["models"]
    assert list(found) == ["majority", "pair graph alone", "follower", "reader"]
    assert found["follower"]["accuracy"] > 0.7
    assert found["follower"]["weighted_accuracy"] == pytest.approx(0.5, abs=0.05)
    assert found["follower"]["change_high"] < -0.1
    assert found["reader"]["change_low"] < 0 < found["reader"]["change_high"]
    titles = {f.title: f.severity for f in card.findings if f.section == "debiased_evaluation"}
    assert titles["follower loses accuracy without the leak"] == "medium"
    assert titles["Accuracy of reader without the leak"] == "info"


def test_weights_of_a_column_are_used_as_they_are_and_need_no_graph() -> None:
    data = leaky()
    card = probe(data, models(data), test_weights="mine", **ONLY)
    summary = card["debiased_evaluation"].summary
    assert summary["weights"] == "mine"
    assert "pair graph alone" not in summary["models"]
    gold = data.test.label_codes if data.test is not None else np.array([])
    right = models(data)[1].answers == gold
    expected = np.average(right, weights=np.where(gold == 0, 3.0, 1.0))
    assert summary["models"]["reader"]["weighted_accuracy"] == pytest.approx(expected)


def test_choices_need_weights_of_their_own_and_the_reason_is_said() -> None:
    table = pl.DataFrame(
        {
            "example_id": np.repeat([f"q{i}" for i in range(40)], 2), "position": [0, 1] * 40,
            "split": ["train"] * 40 + ["test"] * 40, "premise": np.repeat([f"question {i}" for i in range(40)], 2),
            "hypothesis": ["this", "that"] * 40, "mine": 2.0,
            "label": pl.Series(["right", "wrong"] * 40).cast(pl.Enum(["right", "wrong"])),
        }
    )  # fmt: skip
    data = Instances(table, "choice", ("right", "wrong"))
    answers = [Predictions("m", np.zeros(20, dtype=np.int64))]
    with pytest.raises(
        UsageError, match="holds multiple choice; use your own weights with --test-weights COLUMN"
    ):
        probe(data, answers, **ONLY)
    weighted = probe(data, answers, test_weights="mine", **ONLY)["debiased_evaluation"]
    assert weighted.summary["models"]["m"]["weighted_accuracy"] == 1.0


def test_without_a_repeated_sentence_there_is_nothing_to_weigh() -> None:
    data = leaky(200, 200)
    unique = data.with_columns(hypothesis=pl.format("only {}", pl.col("example_id")))
    with pytest.raises(UsageError, match="no sentence occurs twice"):
        probe(unique, models(unique), **ONLY)


def test_small_test_splits_and_small_effective_sizes_are_called_rough() -> None:
    data = leaky(400, 120)
    notes = " ".join(probe(data, models(data), **ONLY)["debiased_evaluation"].summary["notes"])
    assert "The weights are estimated from only 120 test examples" in notes
    assert "The estimate is rough: the effective sample size is" in notes


def test_how_many_weights_were_cut_is_named() -> None:
    data = leaky(400, 1500)
    summary = probe(data, models(data), max_weight=1.5, **ONLY)["debiased_evaluation"].summary
    assert summary["clipped"] > 0
    assert summary["largest"] <= 1.5 + 1e-9
    assert any(f"{summary['clipped']:,} weights above 2 were clipped" in note for note in summary["notes"])


def test_bad_weights_are_named() -> None:
    data = leaky(60, 60)
    with pytest.raises(UsageError, match="Did you mean 'mine'"):
        probe(data, models(data), test_weights="min", **ONLY)
    with pytest.raises(InputError, match="weights must be numbers"):
        probe(data, models(data), test_weights="premise", **ONLY)
    missing = data.with_columns(
        mine=pl.when(pl.col("example_id") == "70").then(None).otherwise(pl.col("mine"))
    )
    with pytest.raises(InputError, match="None for the test example '70'"):
        probe(missing, models(data), test_weights="mine", **ONLY)
    with pytest.raises(InputError, match="above 0"):
        probe(data.with_columns(mine=pl.lit(0.0)), models(data), test_weights="mine", **ONLY)
    with pytest.raises(UsageError, match="max_weight"):
        DebiasedEvaluation(max_weight=0.5)


def test_the_interval_of_a_change_covers_it_in_95_percent_of_samples() -> None:
    rng = np.random.default_rng(4)
    covered, repetitions = 0, 1000
    for _ in range(repetitions):
        group = rng.random(800) < 0.3
        weights = np.where(group, 2.0, 0.5)
        right = rng.random(800) < np.where(group, 0.6, 0.8)
        _, low, high = weighted_change(right, weights)
        covered += low <= (0.6 * 0.6 + 0.35 * 0.8) / 0.95 - (0.3 * 0.6 + 0.7 * 0.8) <= high
    assert 0.93 < covered / repetitions < 0.97


def test_equal_weights_change_nothing() -> None:
    assert weighted_change([1, 0, 1], [2, 2, 2]) == (0, 0, 0)
    with pytest.raises(ValueError, match="same length"):
        weighted_change([1, 0], [1])
