from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.demo_shapes import repeated

import cuecard as cc
from cuecard.analysis import Skip
from cuecard.audits import Style
from cuecard.audits.style import _drivers
from cuecard.data import load
from cuecard.data.demo import demo_battles
from cuecard.errors import UsageError
from cuecard.features.style import formatting, style_counts
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view

STRENGTH = {"alpha": 0.0, "beta": 0.6, "gamma": 1.2}


def battles(n: int, *, length: float, seed: int, wordy: str | None = "gamma"):
    return load(demo_battles(n, length=length, strengths=STRENGTH, wordy=wordy, seed=seed))


def test_marks_and_phrases_are_counted():
    texts = pl.Series(
        ["## A\n1. x\n* y\n`z` 🙂", "I’m unable to help. As an AI language model, perhaps", None]
    )
    counts = {name: values.tolist() for name, values in style_counts(texts).items()}
    assert counts["headings"] == [1, 0, 0]
    assert counts["lists"] == [2, 0, 0]
    assert counts["code"] == [1, 0, 0]
    assert counts["emoji"] == [1, 0, 0]
    assert counts["refusals"] == [0, 2, 0]
    assert counts["hedges"] == [0, 1, 0]
    assert formatting(texts).tolist() == [5, 0, 0]


def test_the_effect_of_length_and_the_strength_of_models_are_recovered():
    data = battles(1000, length=1.0, seed=0)
    result = Style().run(data)
    row = result.tables["style_coefficients"].row(by_predicate=pl.col("feature") == "length", named=True)
    assert row["q_value"] < 1e-6
    models = {r["model"]: r for r in result.tables["style_models"].iter_rows(named=True)}
    odds = np.array([STRENGTH["gamma"] - STRENGTH[m] for m in ("alpha", "beta")])
    true_rate = float((1 / (1 + np.exp(-odds))).mean())
    assert models["gamma"]["controlled_low"] < true_rate < models["gamma"]["controlled_high"]
    assert models["gamma"]["change_high"] < 0  # it also wins by writing more
    measures = {m.name: m for m in result.measures}
    assert measures["style.accuracy"].low > 0.5
    assert measures["style.length.coefficient"].value == row["coefficient"]
    assert "longer responses win" in result.findings[0].title
    assert result.findings[1].id == "style/models"
    subsets = result.tables["style_slices"].filter(column="subset")
    assert subsets["value"].to_list() == ["easy", "hard"]
    assert (subsets["length_low"] > 0).all()


def test_planted_length_and_position_are_recovered_within_their_intervals():
    equal = dict.fromkeys(STRENGTH, 0.0)
    data = load(demo_battles(1500, length=0.8, position=0.5, strengths=equal, seed=4))
    table = Style().run(data).tables["style_coefficients"]
    for feature, planted in (("length", 0.8), ("first_position", 0.5)):
        row = table.row(by_predicate=pl.col("feature") == feature, named=True)
        assert row["low"] / row["unit"] < planted < row["high"] / row["unit"]
        assert row["low"] > 0


def test_style_that_does_not_matter_is_no_finding():
    quiet = [Style().run(battles(200, length=0.0, seed=s, wordy=None)) for s in range(5)]
    assert sum(r.findings[0].severity != "info" for r in quiet) <= 1
    assert np.mean([r.summary["accuracy"]["value"] for r in quiet]) < 0.55


def test_the_change_of_a_win_rate_is_as_certain_as_it_is_over_samples():
    samples = [Style(seed=s).run(battles(300, length=1.0, seed=s)) for s in range(10)]
    rates = [result.tables["style_models"].sort("model") for result in samples]
    claimed = np.mean([(r["change_high"] - r["change_low"]).to_numpy() / 3.92 for r in rates], axis=0)
    ratio = claimed / np.std([r["change"].to_numpy() for r in rates], axis=0, ddof=1)
    assert ratio.min() > 0.5
    assert ratio.max() < 2.0


def test_preferences_of_one_prompt_are_not_modelled():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "prompt": ["Which is better?"] * 80,
            "chosen": ["w " * int(k) for k in rng.integers(20, 60, 80)],
            "rejected": ["w " * int(k) for k in rng.integers(5, 45, 80)],
        }
    )
    with pytest.raises(Skip, match="at least 5 prompts, found 1"):
        Style().run(load(frame))


def test_copies_are_counted_in_the_sentence():
    [style, *_] = Style().run(repeated(battles(60, length=1.0, seed=0), 3)).findings
    assert "on 180 preferences with 60 distinct sets of responses; " in style.text


def test_a_cross_fit_of_one_fold_is_refused():
    with pytest.raises(UsageError, match="at least 2, not 1"):
        Style(folds=1)


def test_too_few_preferences_or_equal_answers_are_skipped_with_the_reason():
    with pytest.raises(Skip, match="at least 50 preferences, found 10"):
        Style().run(battles(10, length=0.0, seed=0))
    same = pl.DataFrame(
        {"prompt": [f"p{i}" for i in range(60)], "chosen": ["a b"] * 60, "rejected": ["c d"] * 60}
    )
    with pytest.raises(Skip, match="differ in length or formatting"):
        Style().run(load(same))


def test_one_chosen_with_several_rejected_is_modelled():
    rng = np.random.default_rng(0)
    rows = [
        {
            "prompt": f"p{i}",
            "chosen": "w " * int(rng.integers(20, 40)),
            "rejected": ["w " * int(k) for k in rng.integers(5, 25, 3)],
        }
        for i in range(80)
    ]
    result = Style().run(load(pl.DataFrame(rows)))
    assert result.summary["chance"] == pytest.approx(0.25)
    assert result.summary["accuracy"]["value"] > 0.9


def test_the_section_shows_coefficients_and_models():
    card = cc.audit(battles(300, length=1.0, seed=2), only=["style"])
    view = section_view(card, "style")
    assert [chart.name for chart in view.charts] == ["coefficients", "models"]
    for chart in view.charts:
        assert specification(draw(chart))["layer"]
    assert [table.title for table in view.tables] == ["Covariates", "Style by slice", "Models"]
    assert "prompts" in view.lead[0]


def test_a_system_prompt_that_all_prompts_share_does_not_make_them_one_prompt():
    frame = demo_battles(300, length=1.5, strengths=dict.fromkeys(STRENGTH, 0.0), seed=3)
    system = " ".join(f"rule{i}" for i in range(60))
    prompts = pl.Series([f"{system} Explain topic{i % 20} to reader{i % 15}." for i in range(len(frame))])
    shared = Style().run(load(frame.with_columns(prompt=prompts)))
    measures = {m.name: m for m in shared.measures}
    assert measures["style.accuracy"].low > 0.5
    assert "longer responses win" in shared.findings[0].title


def test_what_wins_is_one_sentence_whatever_the_features_are():
    rows = [
        {"feature": "length", "coefficient": -0.42, "low": -0.52, "high": -0.33},
        {"feature": "refusals", "coefficient": 0.30, "low": 0.21, "high": 0.39},
    ]
    assert _drivers(rows) == (
        " With the other features held equal, shorter responses (log odds ratio 0.42 per SD, 95 % CI 0.33 to 0.52) and "
        "responses with more refusal phrases (log odds ratio 0.30 per SD, 95 % CI 0.21 to 0.39) win more often."
    )
