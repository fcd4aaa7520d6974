"""Accuracy with and without weights."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.probes.debiased_evaluation import weighted_accuracies


def test_every_model_has_both_accuracies_and_stands_beside_the_majority() -> None:
    gold, weights = pl.Series(list("xxyy")), np.array([1.0, 1.0, 3.0, 1.0])
    right = {"m": np.ones(4, np.bool_), "n": np.array([True, True, False, False])}
    found = weighted_accuracies(gold, weights, right)
    assert found["model"].to_list() == ["majority", "m", "n"]
    assert found["accuracy"].to_list() == pytest.approx([0.5, 1.0, 0.5])
    assert found["weighted_accuracy"].to_list() == pytest.approx([4 / 6, 1.0, 2 / 6])
    assert found["change"][2] == pytest.approx(2 / 6 - 0.5)
    assert (found["weighted_low"] <= found["weighted_accuracy"]).all()
    assert found["effective_n"][1] == pytest.approx(3)  # all right: (Σ w)² / Σ w²


def test_a_model_that_only_follows_the_leak_falls_to_chance_under_neutral_weights() -> None:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 6000)
    leak = np.where(rng.random(6000) < 0.8, label, 1 - label)
    gold = pl.Series(np.array(["no", "yes"])[label])
    weights = 1 / np.where(label == leak, 0.8, 0.2)
    row = weighted_accuracies(gold, weights, {"leak": leak == label}).row(1, named=True)
    assert row["accuracy"] > 0.78
    assert row["weighted_low"] < 0.5 < row["weighted_high"]
