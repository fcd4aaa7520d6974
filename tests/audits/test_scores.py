"""A score is correlated with what is blind to its meaning: planted cues are found, noise is not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import cuecard as cc
from cuecard.audits.scores import Scores, rank_correlation
from cuecard.data import load


def pairs(n: int, seed: int, planted: float) -> pl.DataFrame:
    """Return pairs whose score depends on one word of the hypothesis by so much."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{i}" for i in range(200)])
    marked = rng.random(n) < 0.5
    first, second = ([" ".join(rng.choice(words, 8)) for _ in range(n)] for _ in range(2))
    return pl.DataFrame(
        {
            "sentence1": first,
            "sentence2": [f"{text} sharply" if m else text for text, m in zip(second, marked, strict=True)],
            "score": np.round(2.5 + planted * marked + rng.normal(0, 1, n), 2),
        }
    )


def audited(frame: pl.DataFrame):
    return Scores().run(load(frame, labels="score>2.5"))


def test_a_planted_word_predicts_the_score():
    result = audited(pairs(400, 1, 2.0))
    values = {m.name: m for m in result.measures}
    assert values["scores.hypothesis_only.rank_correlation"].low > 0.4
    assert abs(values["scores.premise_only.rank_correlation"].value) < 0.2
    assert "hypothesis_only" in {finding.key for finding in result.findings}
    assert "premise_only" not in {finding.key for finding in result.findings}
    fifths = result.tables["calibration"].filter(predictor="hypothesis_only")
    assert fifths["score"][4] > fifths["score"][0] + 1
    assert fifths["n"].sum() == 400


def test_scores_in_a_column_called_label_are_read():
    data = load(pairs(200, 1, 2.0).rename({"score": "label"}), labels="label>2.5")
    assert Scores().run(data).summary["column"] == "original_label"


def test_noise_is_seldom_a_finding():
    found = sum(len(audited(pairs(120, seed, 0.0)).findings) for seed in range(20))
    assert found <= 4  # 20 datasets at 5 %


def test_cross_fitted_noise_stays_within_its_interval():
    outside = 0
    for seed in range(100, 160):
        for measure in audited(pairs(120, seed, 0.0)).measures:
            outside += measure.name.split(".")[1].endswith("_only") and not measure.low <= 0 <= measure.high
    assert outside <= 13  # of 120 at 5 %, with 99 %


def test_the_interval_covers():
    rng = np.random.default_rng(5)
    true, n, covered = 0.5, 80, 0
    expected = 6 / np.pi * np.arcsin(true / 2)
    for _ in range(400):
        a = rng.normal(size=n)
        b = true * a + np.sqrt(1 - true**2) * rng.normal(size=n)
        value, low, high = rank_correlation(a, b, n)
        assert value == pytest.approx(spearmanr(a, b).statistic)
        covered += low <= expected <= high
    assert 0.92 <= covered / 400 <= 0.985


def test_scores_in_a_column_called_label_are_cut_at_their_median_and_used():
    rows = [
        {"sentence1": f"A man {i}.", "sentence2": f"A dog {'barks ' * (i % 7)}.", "label": i % 7 + i / 100}
        for i in range(60)
    ]
    data = load(rows)
    assert data.labels == ("above 3.21", "at most 3.21")
    measures = {m.name: m.value for m in Scores().run(data).measures}
    assert measures["scores.hypothesis_length.rank_correlation"] > 0.9


def test_the_section_stands_on_the_card_where_a_threshold_makes_the_labels():
    frame = pairs(60, 3, 1.0)
    card = cc.audit(frame, "score>2.5", skip=["clusters", "pair_graph", "partial_input", "slices", "style"])
    assert card["scores"].status == "done"
    # All premises have eight words, so their length predicts nothing.
    assert set(card["scores"].table["predictor"]) == {
        *("hypothesis_only", "premise_only", "hypothesis_length", "overlap"),
    }
    assert "scores" not in cc.audit(load(frame, labels="score>2.5"), only=["overview"]).sections
