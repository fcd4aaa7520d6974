"""Predictions of the built-in learner are trained once per data, options and code."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.models import LinearModel
from cuecard.probes import linear_predictions


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """Count how often a model is trained, with a cache of its own."""
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    counted: list[int] = []
    fit = LinearModel.fit

    def counting(self: LinearModel, *args: object, **more: object) -> LinearModel:
        counted.append(1)
        return fit(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(LinearModel, "fit", counting)
    return counted


@pytest.mark.parametrize(
    "data", [demo_nli(600).instances, demo_choice(300).instances], ids=["pair", "choice"]
)
def test_a_second_run_trains_nothing_and_predicts_the_same(fits: list[int], data: Instances) -> None:
    first = linear_predictions(data, "linear")
    second = linear_predictions(data, "linear")
    assert len(fits) == 1
    assert first.probabilities is not None
    assert second.probabilities is not None
    np.testing.assert_array_equal(first.answers, second.answers)
    np.testing.assert_array_equal(first.probabilities, second.probabilities)
    np.testing.assert_allclose(first.probabilities.sum(axis=1), 1, atol=1e-5)


def test_other_data_options_or_models_are_trained_anew_and_no_cache_keeps_nothing(
    fits: list[int], tmp_path: Path
) -> None:
    data = demo_nli(600).instances
    linear_predictions(data, "linear", cache=False)
    assert not (tmp_path / "cache").exists()
    linear_predictions(data, "linear")
    linear_predictions(data, "linear-hypothesis")
    linear_predictions(data, "linear", strength=0.5)
    linear_predictions(data, "linear", seed=1)
    turned = data.table.with_columns(
        hypothesis=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("Other.")).otherwise("hypothesis")
    )
    linear_predictions(replace(data, table=turned), "linear")
    linear_predictions(data, "linear", cache=False)
    assert len(fits) == 7


def test_a_broken_file_in_the_cache_is_made_anew(fits: list[int], tmp_path: Path) -> None:
    data = demo_nli(600).instances
    kept = linear_predictions(data, "linear")
    (file,) = (tmp_path / "cache").rglob("*.npz")
    os.truncate(file, 50)
    again = linear_predictions(data, "linear")
    assert len(fits) == 2
    np.testing.assert_array_equal(kept.answers, again.answers)
