"""Selection's Tables 3 and 4: means over seeds, with the leakage and identical pairs."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard_papers.selection import means_over_seeds


def test_every_row_is_a_mean_over_seeds():
    evaluation = pl.DataFrame(
        {
            "model": [
                "majority",
                *(f"{t} training, seed {s}" for s in (0, 1) for t in ("biased", "debiased")),
            ],
            "accuracy": [0.5, 0.8, 0.7, 0.9, 0.8],
            "weighted_accuracy": [0.51, 0.6, 0.65, 0.7, 0.75],
        }
    )
    across = pl.DataFrame(
        {
            "dataset": ["quora (test)", "msrp"] * 2,
            "biased_accuracy": [0.8, 0.5, 0.9, 0.6],
            "debiased_accuracy": [0.7, 0.6, 0.8, 0.8],
        }
    )
    identical = pl.DataFrame(
        {
            "model": ["biased training, seed 0"] * 3 + ["debiased training, seed 0"] * 3,
            "frequency": [1, 1, 4] * 2,
            "score": [0.2, 0.6, 0.9, 0.7, 0.7, 0.8],
        }
    )
    leakage = {"leakage_accuracy": {"unweighted": {"accuracy": 0.79}, "weighted": {"accuracy": 0.54}}}
    means = means_over_seeds(evaluation, across, identical, leakage)
    assert means["model"].to_list() == ["majority", "leakage", "biased", "debiased"]
    assert means["accuracy"].to_list() == pytest.approx([0.5, 0.79, 0.85, 0.75])
    assert means["weighted_accuracy"].to_list() == pytest.approx([0.51, 0.54, 0.65, 0.7])
    assert means["identical"].to_list()[2:] == pytest.approx([2 / 3, 1])
    assert means["msrp"].to_list()[2:] == pytest.approx([0.55, 0.7])
    assert means["rise"].to_list()[2:] == pytest.approx([0.5, 0.1])
    assert means["less_rise"].to_list()[2:] == pytest.approx([0, 0.4])
