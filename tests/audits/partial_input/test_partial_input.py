from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Result, Skip
from cuecard.audits import PartialInput
from cuecard.data import Instances
from cuecard.data.demo import Cue, demo_choice, demo_nli
from small_sets import choice_instances, pair_instances

QUICK = {"learning_curve": False, "cross_fit": False}


def baselines(result: Result) -> dict[str, dict]:
    return {line["name"]: line for line in result.summary["baselines"]}


def text_instances(texts: list[tuple[str, str]]) -> Instances:
    pairs = pair_instances([("train", "", text, label) for text, label in texts])
    return Instances(pairs.table, "text", pairs.labels, "texts")


def leaks(result: Result) -> list[str]:
    return [
        line["name"]
        for line in result.summary["baselines"]
        if line["kind"] in ("content-blind", "partial") and line["direction"] != "at"
    ]


def test_the_clean_control_of_pairs_rarely_shows_a_leak_by_cross_fit_or_on_test():
    found = [
        bool(
            leaks(
                PartialInput(**QUICK).run(demo_nli(400, test_fraction=share, seed=seed, cues=None).instances)
            )
        )
        for share in (0, 0.3)
        for seed in range(12)
    ]
    # At most 5 % of 24 are expected; more than 4 would happen once in 150 runs of fresh seeds.
    assert sum(found) <= 4


def test_the_clean_control_of_choices_rarely_shows_a_leak_by_cross_fit_or_on_test():
    found = [
        bool(
            leaks(
                PartialInput(**QUICK).run(
                    demo_choice(250, test_fraction=share, seed=seed, cues=None).instances
                )
            )
        )
        for share in (0, 0.3)
        for seed in range(12)
    ]
    assert sum(found) <= 4


def test_a_planted_word_is_found_and_its_size_recovered_within_the_interval():
    share, strength = 0.3, 0.9
    # The best guess: the cue's label with the cue, the commonest of the others without.
    truth = share * strength + (1 / 3 - share * (1 - strength) / 2)
    covered = []
    for seed in range(12):
        data = demo_nli(3000, seed=seed, cues=[Cue("word", "entailment", strength, share)]).instances
        result = PartialInput(**QUICK).run(data)
        line = baselines(result)["hypothesis_only"]
        assert line["direction"] == "above"
        assert baselines(result)["premise_only"]["direction"] == "at"
        covered.append(line["low"] <= truth <= line["high"])
    assert sum(covered) >= 10


def test_a_planted_position_is_found_and_its_size_recovered_within_the_interval():
    covered = []
    for seed in range(12):
        cues = [Cue("position", "right", 0.4, 0.25, "2")]
        data = demo_choice(500, test_fraction=0, seed=seed, cues=cues).instances
        lines = baselines(PartialInput(**QUICK).run(data))
        assert lines["position"]["direction"] == "above"
        assert lines["choices_only"]["direction"] == "at"
        covered.append(lines["position"]["low"] <= 0.4 <= lines["position"]["high"])
    assert sum(covered) >= 10


def mirrored(n: int, seed: int) -> Instances:
    """Every pair of choices twice, with either of them right."""
    rng = np.random.default_rng(seed)
    words = ["always", "never", "some", "because", "people", "not", "good", "bad"]
    questions = []
    for i in range(n):
        choices = [" ".join(rng.choice(words, 5)) + f" {i}", " ".join(rng.choice(words, 4)) + f" {i}x"]
        split = "train" if i < 0.7 * n else "test"
        questions += [(split, f"claim {i}", choices, 0), (split, f"no claim {i}", choices, 1)]
    return choice_instances(sorted(questions, key=lambda q: q[0], reverse=True))


def test_mirrored_choices_give_exactly_chance():
    lines = baselines(PartialInput(**QUICK).run(mirrored(100, seed=0)))
    for name in ("choices_only", "longest", "shortest", "length"):
        assert lines[name]["accuracy"] == pytest.approx(0.5, abs=1e-12)
        assert lines[name]["p_value"] == 1


def test_choices_that_were_right_before_and_are_wrong_now_are_reported_below_chance():
    def question(split: str, j: int, right: int, wrong: int) -> tuple[str, str, list[str], int]:
        return split, f"{split} {j}", [f"thing{right + j % 30}", f"thing{wrong + j % 30}"], 0

    train = [question("train", j, right=0, wrong=30) for j in range(200)]
    test = [question("test", j, right=30, wrong=0) for j in range(200)]
    result = PartialInput(**QUICK).run(choice_instances(train + test))
    line = baselines(result)["choices_only"]
    assert line["direction"] == "below"
    assert line["p_value"] < 1e-10
    assert any("below chance" in finding.text for finding in result.findings)


@pytest.fixture(scope="module")
def planted() -> Result:
    return PartialInput(inflation=True).run(demo_nli(1500, seed=1).instances)


def test_every_contracted_number_of_a_baseline_is_there_and_json_can_hold_it(planted):
    summary = json.loads(json.dumps(planted.summary))
    names = [line["name"] for line in summary["baselines"]]
    assert names == ["majority", "prior", "length", "overlap", "hypothesis_only", "premise_only", "full"]
    for line in summary["baselines"]:
        assert {"name", "accuracy", "low", "high", "chance", "p_value", "n", "log10_p"} <= set(line)
        assert 0 <= line["low"] <= line["accuracy"] <= line["high"] <= 1
        assert line["n"] == 375
        assert line["delta_majority"] == pytest.approx(line["accuracy"] - line["chance"])
    full = baselines(planted)["full"]["accuracy"]
    assert baselines(planted)["hypothesis_only"]["percent_r"] == pytest.approx(
        baselines(planted)["hypothesis_only"]["accuracy"] / full
    )


def test_train_and_test_examples_have_leak_scores_that_agree_with_the_accuracy(planted):
    assert planted.examples is not None
    assert planted.examples.group_by("split").len().sort("split")["len"].to_list() == [375, 1125]
    test = planted.examples.filter(pl.col("split") == "test")
    line = baselines(planted)["hypothesis_only"]
    assert test["solved_hypothesis_only"].mean() == pytest.approx(line["accuracy"])
    assert test["pvi"].mean() == pytest.approx(line["information"])
    assert test["leak_score"].is_between(0, 1).all()
    top = planted.tables["leaking_examples"]
    assert top["leak_score"].to_list() == sorted(planted.examples["leak_score"].to_list(), reverse=True)[:50]


def test_the_histogram_counts_every_scored_example_once(planted):
    histogram = planted.tables["leak_histogram"]
    assert histogram.group_by("split").agg(pl.col("count").sum()).sort("split")["count"].to_list() == [
        375,
        1125,
    ]


def test_slices_by_label_and_length_each_cover_all_examples(planted):
    sizes = planted.tables["partial_input_slices"].group_by("column").agg(pl.col("n").sum())
    assert dict(sizes.iter_rows()) == {"label": 375, "length": 375}


def test_an_extra_column_is_a_slice_with_its_own_chance():
    data = demo_nli(900, seed=2).instances
    genre = np.where(np.arange(len(data)) % 3 == 0, "fiction", "letters")
    result = PartialInput(**QUICK).run(
        data.with_columns(genre=pl.Series(genre), serial=pl.Series(range(len(data))))
    )
    table = result.tables["partial_input_slices"]
    inside = table.filter(pl.col("column") == "genre")
    assert inside["value"].to_list() == ["fiction", "letters"]
    assert inside["n"].sum() == 225
    assert "serial" not in table["column"].to_list()
    fiction = data.table.with_columns(genre=pl.Series(genre)).filter(
        pl.col("genre") == "fiction", split="test"
    )
    shares = fiction["label"].value_counts()["count"].max() / fiction.height
    assert inside["chance"][0] == pytest.approx(shares)


def test_the_learning_curve_ends_with_the_accuracy_of_all_examples(planted):
    curve = planted.tables["learning_curve"]
    assert curve["train_examples"].to_list() == sorted(curve["train_examples"].to_list())
    last = curve.row(-1, named=True)
    assert last["train_examples"] == 1125
    assert last["accuracy"] == pytest.approx(baselines(planted)["hypothesis_only"]["accuracy"])
    assert curve["chance"][0] == baselines(planted)["full"]["chance"]


def test_shared_sentences_inflate_the_score_and_the_option_shows_by_how_much():
    rng = np.random.default_rng(3)
    rows = []
    for i in range(200):
        label = "yes" if rng.random() < 0.5 else "no"
        word = f"word{i}"
        rows += [("train", f"premise {i} {j}", f"{word} {word}ish", label) for j in range(3)]
    shift = PartialInput(learning_curve=False, inflation=True).run(pair_instances(rows)).summary["inflation"]
    assert shift["hypothesis_only"]["example"] > 0.9
    assert shift["hypothesis_only"]["sentence"] < 0.6
    assert shift["hypothesis_only"]["difference"] > 0.3


def test_equal_runs_give_equal_results(planted):
    again = PartialInput(inflation=True).run(demo_nli(1500, seed=1).instances)
    assert json.dumps(again.summary) == json.dumps(planted.summary)
    assert again.examples is not None
    assert again.examples.equals(planted.examples)
    assert all(again.tables[name].equals(table) for name, table in planted.tables.items())


def test_single_texts_are_scored_by_length_and_in_full():
    rng = np.random.default_rng(4)
    texts = [(f"{i} " + "bad " * rng.integers(1, 4), "neg") for i in range(60)]
    texts += [(f"{i} " + "good " * rng.integers(5, 9), "pos") for i in range(60, 120)]
    lines = baselines(PartialInput(**QUICK).run(text_instances(texts)))
    assert list(lines) == ["majority", "prior", "length", "full"]
    assert lines["length"]["accuracy"] == 1


def test_too_few_examples_are_skipped_with_the_reason():
    data = pair_instances([("train", f"p{i}", f"h{i}", "ab"[i % 2]) for i in range(12)])
    with pytest.raises(Skip, match="at least 20 training examples, found 12"):
        PartialInput().run(data)


def test_at_most_max_train_examples_are_learned_from():
    data = demo_nli(900, seed=5).instances
    lines = {
        size: baselines(PartialInput(max_train=size, **QUICK).run(data))["full"]["accuracy"]
        for size in (60, 900)
    }
    assert lines[60] < lines[900] - 0.1


def test_a_label_that_only_the_test_split_has_does_not_stop_the_audit():
    rows = [("train", f"p{i}", f"h{i % 7}", "ab"[i % 2]) for i in range(60)]
    rows += [("test", f"q{i}", f"h{i % 7}", "abz"[i % 3]) for i in range(30)]
    lines = baselines(PartialInput(**QUICK).run(pair_instances(rows)))
    assert lines["full"]["n"] == 30
    assert np.isfinite(lines["hypothesis_only"]["information"])
