from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.audits import PartialInput
from cuecard.audits.partial_input.leak_scores import given_away
from cuecard.data import Instances
from cuecard.data.demo import demo_nli
from cuecard.errors import UsageError
from cuecard.remedies import stress_set, write_stress_set
from small_sets import choice_instances, pair_instances

PAIRS = pair_instances([("train", f"p{i}", f"h{i}", "aab"[i % 3]) for i in range(9)])
SOLVED = pl.DataFrame(
    {
        "example_id": [str(i) for i in range(9)],
        "split": ["train"] * 9,
        "solved_hypothesis_only": [1.0, 0, 0, 1, 0, 0, 0, 0, 0.5],
        "solved_premise_only": [0.0, 0, 0, 0, 1, 0, 0, 0, 0],
    }
)


def test_hard_is_what_no_partial_input_solves_and_easy_the_rest():
    found = stress_set(PAIRS, SOLVED)
    assert found.solvers == ("hypothesis_only", "premise_only")
    assert found.part("hard").table["example_id"].to_list() == ["1", "2", "5", "6", "7", "8"]
    assert found.part("easy").table["example_id"].to_list() == ["0", "3", "4"]


def test_only_the_named_solvers_count():
    found = stress_set(PAIRS, SOLVED, solvers=["hypothesis_only"])
    assert found.part("easy").table["example_id"].to_list() == ["0", "3"]


def test_an_example_nobody_scored_is_in_neither_part():
    found = stress_set(PAIRS, SOLVED.filter(pl.col("example_id") != "1"))
    assert "1" not in found.part("hard").table["example_id"].to_list()
    assert found.summary()["examples"] == {"train/easy": 3, "train/hard": 5}


def test_the_label_balance_of_both_parts_is_reported():
    balance = stress_set(PAIRS, SOLVED).balance
    hard = balance.filter(pl.col("part") == "hard")
    assert dict(hard.select("answer", "count").iter_rows()) == {"a": 3, "b": 3}
    assert balance.filter(pl.col("part") == "easy").select("answer", "share").rows() == [("a", 1.0)]


def test_a_balanced_hard_part_has_as_many_of_every_label():
    data = demo_nli(900, seed=0).instances
    examples = PartialInput(learning_curve=False).run(data).examples
    assert examples is not None
    found = stress_set(data, examples, balanced=True, seed=1)
    counts = found.balance.filter(pl.col("part") == "hard").group_by("split").agg(pl.col("count").unique())
    assert counts["count"].list.len().to_list() == [1, 1]
    assert found.part("easy").n_examples == stress_set(data, examples).part("easy").n_examples


def test_a_label_without_hard_examples_cannot_be_balanced():
    solved = SOLVED.with_columns(solved_hypothesis_only=pl.Series([0.0, 0, 1] * 3))
    with pytest.raises(UsageError, match="answer b"):
        stress_set(PAIRS, solved, solvers=["hypothesis_only"], balanced=True)
    assert stress_set(PAIRS, solved, solvers=["hypothesis_only"]).part("hard").n_examples == 6


def nothing_solved(data: Instances) -> pl.DataFrame:
    ids = data.table["example_id"].unique(maintain_order=True)
    return pl.DataFrame({"example_id": ids, "split": "train", "solved_x": 0.0})


def test_positions_are_balanced_among_questions_with_as_many_choices():
    two = [("train", f"q{i}", ["a", "b"], int(i < 10)) for i in range(40)]
    three = [("train", f"r{i}", ["a", "b", "c"], min(i // 20, 2)) for i in range(45)]
    four = [("train", f"s{i}", ["a", "b", "c", "d"], i % 3) for i in range(9)]
    data = choice_instances(two + three + four)
    hard = stress_set(data, nothing_solved(data), balanced=True).part("hard").table
    sizes = hard.with_columns(choices=pl.len().over("example_id")).filter(label="right")
    counts = sizes.group_by("choices", "position").len().sort("choices", "position")
    assert counts.rows() == [(2, 0, 10), (2, 1, 10), (3, 0, 5), (3, 1, 5), (3, 2, 5)]


def test_a_position_that_is_never_right_cannot_be_balanced():
    data = choice_instances([("train", f"q{i}", ["a", "b", "c"], i % 2) for i in range(8)])
    with pytest.raises(UsageError, match="cannot be balanced"):
        stress_set(data, nothing_solved(data), balanced=True)


def test_preferences_with_the_chosen_answer_first_lose_nothing_by_balancing():
    data = preference_instances()
    assert stress_set(data, nothing_solved(data), balanced=True).part("hard").n_examples == 4


def test_partial_input_is_near_chance_on_the_hard_part_and_right_on_the_easy_one():
    data = demo_nli(3000, seed=0).instances
    examples = PartialInput(learning_curve=False).run(data).examples
    assert examples is not None
    divided = stress_set(data, examples, solvers=["hypothesis_only"]).examples
    means = dict(divided.group_by("part").agg(pl.col("solved_hypothesis_only").mean()).iter_rows())
    assert means["easy"] == 1
    assert means["hard"] < divided["solved_hypothesis_only"].mean() - 0.02


def test_without_a_leak_nothing_is_easy_by_luck():
    """Solved by luck alone, 54 % of the examples of two labels used to be called easy."""
    rng = np.random.default_rng(0)
    solved = (rng.random(2000) < 0.54).astype(float)
    assert given_away(solved, rng.uniform(0.5, 0.7, 2000), 0.52).mean() == 0
    data = demo_nli(1500, seed=2).instances
    shuffled = data.with_columns(label=data.table["label"].shuffle(seed=1))
    examples = PartialInput(learning_curve=False).run(shuffled).examples
    assert examples is not None
    parts = stress_set(shuffled, examples).examples["part"]
    assert (parts == "hard").mean() > 0.95


def test_an_examples_own_outcome_has_no_part_in_its_class():
    solved, confidence = np.r_[np.ones(30), np.zeros(20)], np.full(50, 0.8)
    assert not given_away(solved, confidence, 0.2).any()  # 29 of 49 others, and 60 % are needed
    assert given_away(np.r_[np.ones(31), np.zeros(19)], confidence, 0.2).sum() == 31


def test_without_scores_the_audit_to_run_is_named():
    with pytest.raises(UsageError, match="partial_input"):
        stress_set(PAIRS, SOLVED.select("example_id", "split"))
    with pytest.raises(UsageError, match="nothing_only"):
        stress_set(PAIRS, SOLVED, solvers=["nothing_only"])


def preference_instances() -> Instances:
    table = choice_instances([("train", f"q{i}", [f"good {i}", f"bad {i}"], 0) for i in range(4)]).table
    labels = ("chosen", "rejected")
    renamed = (
        table["label"].cast(pl.String).replace({"right": "chosen", "wrong": "rejected"}).cast(pl.Enum(labels))
    )
    return Instances(table.with_columns(label=renamed), "preference", labels, "preferences")


@pytest.mark.parametrize(
    "data",
    [
        PAIRS.with_columns(genre=pl.lit("letters")),
        choice_instances([("train", f"q{i}", [f"a{i}", f"b{i}", f"c{i}"], i % 3) for i in range(4)]),
        preference_instances(),
        Instances(PAIRS.table.with_columns(premise=pl.lit("")), "text", PAIRS.labels, "texts"),
    ],
    ids=["pair", "choice", "preference", "text"],
)
def test_written_parts_are_read_back_as_the_same_examples(data, tmp_path):
    ids = data.table["example_id"].unique(maintain_order=True)
    solved = pl.DataFrame(
        {"example_id": ids, "split": "train", "solved_x": [float(i == 0) for i in range(len(ids))]}
    )
    paths = write_stress_set(stress_set(data, solved), tmp_path / "stress")
    again = cc.load(paths["train_hard"])
    assert again.task == data.task
    hard = data.table.filter(pl.col("example_id") != ids[0])
    for column in ("example_id", "premise", "hypothesis"):
        assert again.table[column].to_list() == hard[column].to_list()
    assert again.table["label"].cast(pl.String).to_list() == hard["label"].cast(pl.String).to_list()
    assert pl.read_parquet(tmp_path / "stress" / "balance.parquet").height
