"""Leaks that accuracy or words do not show, each on a generated set of that shape and on its clean control."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from benchmarks.demo_shapes import demo_elimination, demo_rare_choices, demo_sources, demo_unbalanced

from cuecard.analysis import Result
from cuecard.audits import PartialInput
from cuecard.audits.partial_input.rules import choice_rules, label_rules
from cuecard.data.demo import demo_nli
from cuecard.data.examples import Examples
from small_sets import choice_instances, pair_instances

QUICK = PartialInput(learning_curve=False, cross_fit=False)


def lines(result: Result) -> dict[str, dict]:
    return {line["name"]: line for line in result.summary["baselines"]}


@pytest.mark.parametrize("test_fraction", [0.25, 0.0])
def test_a_leak_is_found_where_accuracy_cannot_exceed_the_majority(test_fraction):
    result = QUICK.run(demo_unbalanced(test_fraction=test_fraction))
    line = lines(result)["hypothesis_only"]
    assert line["accuracy"] <= line["chance"] + 0.005
    assert line["hits_p_value"] > 0.5
    assert line["p_value"] < 1e-8
    assert line["direction"] == "above"
    assert line["auc_low"] < 0.75 < line["auc_high"]
    assert line["information_low"] > 0
    finding = next(f for f in result.findings if f.title.startswith("Hypothesis-only"))
    assert finding.severity in ("high", "medium")
    assert "Accuracy alone does not show this leak" in finding.text
    assert "lower bound" in finding.text
    names = {m.name: m for m in result.measures}
    assert names["partial_input.hypothesis_only.auc"].value == line["auc"]
    assert names["partial_input.hypothesis_only.bits"].low == line["information_low"]


def test_without_the_leak_the_smallest_detectable_area_is_stated():
    result = QUICK.run(demo_unbalanced(strength=0.0, seed=1))
    line = lines(result)["hypothesis_only"]
    assert line["direction"] == "at"
    assert 0.5 < line["detectable_auc"] < 0.7
    finding = next(f for f in result.findings if f.title.startswith("Hypothesis-only"))
    assert f"an AUC of {line['detectable_auc']:.3f} or more" in finding.text


def pairs_of_lengths(seed: int, longer: int) -> Result:
    """Return the audit of 400 pairs whose hypotheses have some words more where the label is "b"."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, 400)
    texts = [
        " ".join(f"w{word}" for word in rng.integers(0, 300, rng.integers(4, 14) + longer * code))
        for code in codes
    ]
    premises = [f"p{i} q{3 * i} r{7 * i}" for i in range(400)]
    return QUICK.run(
        pair_instances(
            [("train", *row) for row in zip(premises, texts, ["ab"[c] for c in codes], strict=True)]
        )
    )


def test_a_length_is_tested_without_a_model():
    found = [lines(pairs_of_lengths(seed, 1))["length"] for seed in range(10)]
    assert {line["test"] for line in found} == {"figures"}
    assert sum(line["p_value"] <= 0.05 for line in found) >= 7  # of a model of earlier folds: half of them
    clean = [lines(pairs_of_lengths(seed, 0))["length"] for seed in range(20)]
    assert sum(line["p_value"] <= 0.05 for line in clean) <= 4  # 99.7 % of Binomial(20, 0.05)


def test_shared_words_of_copies_are_counted_once():
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = []
        for _ in range(20):
            hypothesis = " ".join(f"w{word}" for word in rng.integers(0, 300, rng.integers(4, 14)))
            label = "ab"[rng.integers(2)]
            for _ in range(15):
                premise = " ".join(f"w{word}" for word in rng.integers(0, 300, 9))
                rows.append(("train", premise, hypothesis, label))
        found.append(lines(QUICK.run(pair_instances(rows)))["overlap"])
    assert {line["test"] for line in found} == {"figures"}
    assert sum(line["p_value"] <= 0.05 for line in found) <= 3  # 99.8 %; all where each pair counts


def test_what_train_lacks_is_what_test_has():
    result = QUICK.run(demo_elimination())
    found = lines(result)
    assert found["premise_least"]["accuracy"] > 0.48
    assert found["premise_least"]["direction"] == "above"
    assert found["premise_only"]["direction"] == "below"
    assert found["premise_only"]["turned"] > 0.48 > 0.38 > found["premise_only"]["chance"]
    texts = " ".join(f.text for f in result.findings)
    assert "The least likely label has an accuracy of" in texts
    assert "Predicting the least frequent training label of the premise" in texts
    names = {m.name: m for m in result.measures}
    assert names["partial_input.premise_only.turned_accuracy"].gain > 0.15


def test_random_labels_of_repeated_premises_are_rarely_a_leak():
    alarms = 0
    for seed in range(12):
        found = lines(QUICK.run(demo_elimination(300, strength=0.0, seed=seed)))
        alarms += any(
            line["direction"] != "at"
            for line in found.values()
            if line["kind"] in ("content-blind", "partial")
        )
    assert alarms <= 3


def test_the_rarer_choice_is_right_more_often():
    found = lines(QUICK.run(demo_rare_choices()))
    assert found["rarest_choice"]["accuracy"] > 0.68
    assert found["rarest_choice"]["direction"] == "above"
    assert found["commonest_choice"]["direction"] == "below"
    clean = lines(QUICK.run(demo_rare_choices(strength=0.0, seed=1)))
    assert clean["rarest_choice"]["direction"] == "at"


def test_extra_columns_are_an_input_of_their_own_unless_they_write_the_label():
    data = demo_nli(900, seed=3, cues=None).instances
    rng = np.random.default_rng(0)
    leaks = np.where(rng.random(len(data)) < 0.5, data.label_codes, rng.integers(0, 3, len(data)))
    with_source = data.with_columns(
        source=pl.Series(leaks), code=pl.Series(data.label_codes), serial=pl.Series(range(len(data)))
    )
    line = lines(QUICK.run(with_source))["metadata"]
    assert line["accuracy"] == pytest.approx(2 / 3, abs=0.08)
    assert line["direction"] == "above"
    only_code = data.with_columns(code=pl.Series(data.label_codes))
    assert "metadata" not in lines(QUICK.run(only_code))


def test_labels_are_counted_in_train_with_ties_shared_and_new_texts_open():
    train = [
        ("train", "Seen once.", "h", "a"),
        ("train", "seen ONCE", "i", "b"),
        ("train", "other", "j", "c"),
    ] * 10
    test = [("test", "seen once!", f"t{i}", "c") for i in range(20)]
    test += [("test", "other", f"u{i}", "c") for i in range(20)] + [("test", "new", "v", "a")]
    examples = Examples(pair_instances(train + test))
    rules = label_rules(examples, np.arange(30), np.arange(30, 71))
    assert rules["premise_least"].score.tolist() == [1.0] * 20 + [0.0] * 20 + [1 / 3]
    assert rules["premise_most"].score.tolist() == [0.0] * 20 + [1.0] * 20 + [1 / 3]
    assert "hypothesis_least" not in rules  # hypotheses of test do not occur in train


def test_choices_are_counted_over_the_whole_set():
    questions = [("train", f"q{i}", ["often", f"rare {i}"], i % 2) for i in range(30)]
    rules = choice_rules(Examples(choice_instances(questions)), np.arange(30))
    assert rules["rarest_choice"].score.tolist() == [i % 2 for i in range(30)]
    assert rules["commonest_choice"].score.tolist() == [1 - i % 2 for i in range(30)]
    distinct = [("train", f"q{i}", [f"one {i}", f"two {i}"], 0) for i in range(30)]
    assert choice_rules(Examples(choice_instances(distinct)), np.arange(30)) == {}


def test_words_of_the_premise_are_named_where_the_premise_beats_chance():
    data = demo_unbalanced(1200, rare=0.5)
    turned = data.table.with_columns(premise=pl.col("hypothesis"), hypothesis=pl.col("premise"))
    result = QUICK.run(replace(data, table=turned))
    assert lines(result)["premise_only"]["direction"] == "above"
    assert result.tables["premise_words"]["feature"][0] == "indeed"
    finding = next(f for f in result.findings if f.title == "Premise-only accuracy is above chance")
    assert "“indeed”" in finding.text
    assert "premise_words" not in QUICK.run(data).tables


def test_words_of_the_premise_are_named_where_the_premise_is_below_chance():
    data = demo_unbalanced(1600, rare=0.5, strength=0.7)
    cue = pl.col("hypothesis").str.starts_with("Indeed")
    # In test, the word goes with the other label.
    turned = (
        pl.when((pl.col("split") == "test") & cue)
        .then(pl.lit("no"))
        .otherwise(pl.col("label").cast(pl.String))
    )
    table = data.table.with_columns(
        premise=pl.col("hypothesis"),
        hypothesis=pl.col("premise"),
        label=turned.cast(data.table.schema["label"]),
    )
    result = QUICK.run(replace(data, table=table))
    assert lines(result)["premise_only"]["direction"] == "below"
    assert result.tables["premise_words"]["feature"][0] == "indeed"
    finding = next(f for f in result.findings if f.title == "Premise-only accuracy is below chance")
    assert "“indeed”" in finding.text


def test_a_source_that_goes_with_a_label_is_seen_and_a_random_one_is_not():
    for strength, direction in ((0.6, "above"), (0.0, "at")):
        found = lines(QUICK.run(demo_sources(1_000, strength=strength, seed=3)))
        assert found["metadata"]["direction"] == direction
        assert found["hypothesis_only"]["direction"] == "at"
