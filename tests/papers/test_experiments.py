from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from cuecard.card import load_card
from first_word_model import FirstWord, rain_or_sun

pytestmark = pytest.mark.usefixtures("first_word")


def pairs(n: int, seed: int) -> pl.DataFrame:
    return rain_or_sun(
        n, seed, labels=("entailment", "no"), premise="they said p{}", premises=60, hypotheses=20
    )


@pytest.fixture
def files(tmp_path):
    pairs(500, 0).write_parquet(tmp_path / "train.parquet")
    pairs(300, 1).write_parquet(tmp_path / "test.parquet")
    pairs(200, 2).write_parquet(tmp_path / "other.parquet")
    return tmp_path


def reproduce(files, paper, *more):
    return (
        "papers",
        paper,
        files / "train.parquet",
        "--test",
        files / "test.parquet",
        "--model",
        "first-word",
        *more,
    )


STUBBORN = ("--per-label", 1, "--min-count", 20, "--set", "epochs=1", "--schemes", "uniform,paper,words")


def test_balanced_words_take_the_reliance_away_from_a_model_of_words(cuecard, files):
    ran = cuecard(*reproduce(files, "stubborn", "--seeds", 2, *STUBBORN, "--out", files / "out"))
    assert ran.code == 0, ran.err
    assert "effect of balanced words" in ran.out
    runs = pl.read_parquet(files / "out" / "tables" / "stubborn_runs.parquet")
    assert runs.select("weights", "seed").rows() == [
        (w, s) for w in ("uniform", "paper", "words") for s in (0, 1)
    ]
    by_weights = dict(runs.group_by("weights").agg(pl.col("log10_p").median()).iter_rows())
    # The first word is all that this model reads: where it no longer tells the label, there is nothing left to use.
    assert by_weights["uniform"] < -20
    assert by_weights["words"] > by_weights["uniform"] + 10
    page = (files / "out" / "report.html").read_text()
    assert "Reliance on words by weights" in page
    card = load_card(files / "out")
    assert card["stubborn"].about == "experiment"
    model = runs["model"][0]
    assert card.measure(f"stubborn.p.{model}.uniform").value == pytest.approx(by_weights["uniform"])
    assert card.measure(f"stubborn.difference.{model}.words").unit == "points"


def test_weights_that_choices_cannot_have_are_said_to_be_left_out(cuecard, tmp_path):
    rng = np.random.default_rng(0)
    for name, n in (("train", 200), ("test", 80)):
        rows = [
            {
                "question": f"what q{i}",
                "choices": [f"{w} h{rng.integers(9)}" for w in ("rain", "sun")],
                "answer": i % 2,
            }
            for i in range(n)
        ]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    more = (
        "--model",
        "first-word",
        "--per-label",
        1,
        "--min-count",
        20,
        "--seeds",
        1,
        "--schemes",
        "uniform,paper,words",
    )
    ran = cuecard(
        "papers", "stubborn", tmp_path / "train.jsonl", "--test", tmp_path / "test.jsonl", *more, "--out",
        tmp_path / "out",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    said = "own weights were left out"
    assert said in " ".join(ran.out.split())
    card = json.loads((tmp_path / "out" / "card.json").read_text())
    assert said in card["sections"]["stubborn"]["summary"]["notes"][0]
    assert said in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize("paper", ["stubborn", "selection"])
def test_without_the_cache_nothing_is_kept(cuecard, files, paper):
    more = STUBBORN if paper == "stubborn" else ("--max-weight", 20)
    ran = cuecard(*reproduce(files, paper, "--seeds", 1, *more, "--no-cache", "--json"))
    assert ran.code == 0, ran.err
    assert not (files / "cache").exists()


def test_seeds_count_from_the_given_one(cuecard, files, monkeypatch):
    trained = []
    original = FirstWord.fit

    def counting(self, *args, **kwargs):
        trained.append(self.seed)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(FirstWord, "fit", counting)
    more = ("--per-label", 1, "--schemes", "uniform", "--seed", 5, "--seeds", 2, "--json")
    ran = cuecard(*reproduce(files, "stubborn", *more))
    assert ran.code == 0, ran.err
    assert trained == [5, 6]


def test_an_interrupted_experiment_goes_on_where_it_was(cuecard, files, monkeypatch):
    fits = []
    original = FirstWord.fit

    def stopping(self, *args, **kwargs):
        if len(fits) == 3:
            raise KeyboardInterrupt
        fits.append(self.seed)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(FirstWord, "fit", stopping)
    assert cuecard(*reproduce(files, "stubborn", "--seeds", 2, *STUBBORN)).code == 130

    def counting(self, *args, **kwargs):
        fits.append(self.seed)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(FirstWord, "fit", counting)
    assert cuecard(*reproduce(files, "stubborn", "--seeds", 2, *STUBBORN)).code == 0
    assert len(fits) == 6


def test_selection_evaluates_both_trainings_as_they_stand_and_under_weights(cuecard, files):
    ran = cuecard(
        *reproduce(files, "selection", "--also", files / "other.parquet", "--max-weight", 20, "--json", "--out",
                   files / "out")
    )  # fmt: skip
    assert ran.code == 0, ran.err
    summary = json.loads(ran.out)["sections"]["selection"]["summary"]
    assert summary["match"] == "entailment"
    assert [row["model"] for row in summary["evaluation"]] == [
        "majority",
        "biased training",
        "debiased training",
    ]
    assert [(row["dataset"], row["n"]) for row in summary["across"]] == [
        (f"{files.name} (test)", 300), ("other", 200)
    ]  # fmt: skip
    # Nothing is drawn by frequency here, so the words' accuracy holds in every evaluation.
    for row in summary["evaluation"][1:]:
        assert row["accuracy"] == pytest.approx(0.8, abs=0.07)
        assert row["low"] < row["accuracy"] < row["high"]
    boxes = pl.read_parquet(files / "out" / "tables" / "selection_identical.parquet")
    assert set(boxes["model"]) == {"biased training", "debiased training"}
    assert boxes["n"].sum() == 2 * summary["identical_pairs"]
    page = (files / "out" / "report.html").read_text()
    assert "Identical pairs" in page
    card = load_card(files / "out")
    weighted = card.measure("selection.weighted_accuracy.debiased training")
    assert weighted.value == summary["evaluation"][2]["weighted_accuracy"]
    assert weighted.low < weighted.value < weighted.high
    assert card.measure("selection.difference.other.0").n == 200


@pytest.mark.parametrize(
    ("paper", "more", "said"),
    [
        ("stubborn", ("--schemes", "uniform,wrods"), "Unknown weights 'wrods'"),
        ("stubborn", ("--model", "nothing"), "Unknown model 'nothing'"),
        ("stubborn", ("--set", "seed=3"), "give the first with --seed"),
        ("selection", ("--match", "same"), "Unknown label (match) 'same'"),
        ("selection", ("--set", "first-word.epoch=1"), "parameter of the model 'first-word'"),
    ],
)
def test_bad_usage_is_one_sentence(cuecard, files, paper, more, said):
    ran = cuecard(*reproduce(files, paper, *more, "--out", files / "out"))
    assert ran.code == 2
    assert said in ran.err
    assert not (files / "out").exists()


def test_other_sets_are_scored_whole_with_labels_of_their_own(cuecard, files):
    other = pairs(50, 3)
    scores = other.select(pl.exclude("label"), score=pl.col("label").replace({"entailment": "4", "no": "1"}))
    (files / "whole").mkdir()
    scores.head(30).write_parquet(files / "whole" / "train.parquet")
    scores.tail(20).write_parquet(files / "whole" / "test.parquet")
    more = ("--also", files / "whole", "--also-labels", "score>3=entailment,no")
    ran = cuecard(*reproduce(files, "selection", *more, "--max-weight", 20, "--json"))
    assert ran.code == 0, ran.err
    [_, whole] = json.loads(ran.out)["sections"]["selection"]["summary"]["across"]
    assert (whole["dataset"], whole["n"]) == ("whole", 50)
    assert whole["biased_accuracy"] > 0.6
    ran = cuecard(*reproduce(files, "selection", *more, "--also-labels", "score>2"))
    assert (ran.code, "--also-labels is given 2 times and --also 1 time" in ran.err) == (2, True)


def test_another_set_with_other_labels_is_refused(cuecard, files):
    pairs(50, 3).with_columns(label=pl.col("label").replace({"no": "never"})).write_parquet(
        files / "odd.parquet"
    )
    ran = cuecard(*reproduce(files, "selection", "--also", files / "odd.parquet"))
    assert ran.code == 2
    assert "odd has the label 'never'" in ran.err


def test_pairs_are_needed_for_selection(cuecard, tmp_path):
    rows = pl.DataFrame({"text": [f"a{i} b" for i in range(40)], "label": ["x", "entailment"] * 20})
    rows.write_parquet(tmp_path / "train.parquet")
    rows.write_parquet(tmp_path / "test.parquet")
    ran = cuecard(*reproduce(tmp_path, "selection"))
    assert ran.code == 2
    assert "only applies to pairs" in ran.err


@pytest.mark.parametrize("paper", ["stubborn", "selection"])
def test_a_subset_of_train_is_drawn_by_the_seed_and_noted(cuecard, files, monkeypatch, paper):
    sizes = []
    original = FirstWord.fit

    def fit(self, data, **kwargs):
        sizes.append(data.n_examples)
        return original(self, data, **kwargs)

    monkeypatch.setattr(FirstWord, "fit", fit)
    more = ("--seeds", 1, *STUBBORN) if paper == "stubborn" else ("--max-weight", 20)
    ran = cuecard(*reproduce(files, paper, *more, "--subset", 300, "--json"))
    assert ran.code == 0, ran.err
    assert set(sizes) == {300}
    assert "300 of 500 training examples, drawn with seed 0." in json.loads(ran.out)["dataset"]["notes"]


def test_a_subset_too_small_to_learn_from_is_refused(cuecard, files):
    ran = cuecard(*reproduce(files, "stubborn", *STUBBORN, "--subset", 1))
    assert (ran.code, "at least 2" in ran.err) == (2, True)


def test_a_model_no_better_than_the_commonest_answer_is_no_success_of_the_weights():
    from cuecard_papers.stubborn import _findings

    row = {
        "model": "m", "weights": "words", "seeds": 1, "accuracy": 0.46, "difference": 0.01, "log10_p": -0.1,
        "log10_p_exact": -0.1,
        "log10_p_within_label": -0.1, "log10_p_within_label_lowest": -0.1,
    }  # fmt: skip
    said = "accuracy is not above the majority baseline"
    [idle] = _findings(pl.DataFrame([row]), 0.05, 0.57, [])
    assert f"With words weights, {said}" in idle.text
    [able] = _findings(pl.DataFrame([{**row, "accuracy": 0.7}]), 0.05, 0.57, [])
    assert said not in able.text
