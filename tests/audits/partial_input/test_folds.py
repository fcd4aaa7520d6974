from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.analysis import Skip
from cuecard.audits import PartialInput
from cuecard.audits.partial_input.folds import assign, example_groups, make_folds
from cuecard.data import load
from cuecard.data.demo import demo_choice, demo_nli
from small_sets import choice_instances, pair_instances


@given(
    sizes=st.lists(st.integers(1, 30), min_size=5, max_size=80),
    folds=st.integers(2, 6),
    seed=st.integers(0, 1000),
)
@settings(max_examples=60, deadline=None)
def test_a_group_is_never_split_and_every_example_has_a_fold(sizes, folds, seed):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(groups))
    strata = rng.integers(0, 3, len(groups))
    fold = assign(groups[order], strata, folds=folds, seed=seed)
    assert ((fold >= 0) & (fold < folds)).all()
    for group in range(len(sizes)):
        assert len(set(fold[groups[order] == group])) == 1


@pytest.mark.parametrize("seed", range(5))
def test_single_examples_are_spread_evenly_over_folds_and_labels(seed):
    rng = np.random.default_rng(seed)
    strata = rng.integers(0, 3, 1000)
    fold = assign(np.arange(1000), strata, folds=5, seed=seed)
    table = np.zeros((3, 5))
    np.add.at(table, (strata, fold), 1)
    assert np.abs(table - table.mean(axis=1, keepdims=True)).max() <= 4
    assert np.abs(np.bincount(fold) - 200).max() <= 6


def test_a_large_group_gets_a_fold_with_fewer_others():
    groups = np.concatenate([np.zeros(300, dtype=np.int64), np.arange(1, 701)])
    fold = assign(groups, np.zeros(1000, dtype=np.int64), folds=5, seed=0)
    alone = fold[0]
    assert (fold[:300] == alone).all()
    others = np.bincount(fold[300:], minlength=5)
    assert others[alone] == 0
    assert np.abs(np.delete(others, alone) - 175).max() <= 10


@pytest.mark.parametrize(
    "data", [demo_nli(900, test_fraction=0).instances, demo_choice(300, test_fraction=0).instances]
)
def test_no_sentence_of_a_generated_set_stands_in_two_folds(data):
    folds = make_folds(data, np.zeros(data.n_examples, dtype=np.int64))
    rows = data.table.select("premise", "hypothesis", fold=pl.Series(folds.fold[data.example_codes]))
    long = pl.concat([rows.select("fold", text="premise"), rows.select("fold", text="hypothesis")])
    spread = long.group_by("text").agg(pl.col("fold").n_unique())
    assert folds.grouping == "sentence"
    assert spread["fold"].max() == 1
    assert folds.count == 5


def test_groups_follow_sentences_however_indirect_the_connection_is():
    data = pair_instances(
        [
            ("train", "p1", "h1", "a"),
            ("train", "p1", "h2", "b"),
            ("train", "p2", "h2", "a"),
            ("train", "h1", "x", "b"),  # a hypothesis of one is the premise of another
            ("train", "p3", "h3", "a"),
        ]
    )
    assert example_groups(data, "sentence").tolist() == [0, 0, 0, 0, 1]
    assert example_groups(data, "premise").tolist() == [0, 0, 1, 2, 3]
    assert example_groups(data, "example").tolist() == [0, 1, 2, 3, 4]


def test_common_answers_that_tie_everything_together_are_named_and_only_premises_kept_together():
    data = choice_instances([("train", f"question {i // 2}", ["yes", "no"], i % 2) for i in range(60)])
    folds = make_folds(data, np.zeros(60, dtype=np.int64))
    assert folds.grouping == "premise"
    assert "100 %" in folds.note
    assert folds.note.endswith("only examples with the same question stay in one fold.")
    assert all(folds.fold[i] == folds.fold[i + 1] for i in range(0, 60, 2))


def test_the_seed_decides_the_folds():
    data = demo_nli(300, test_fraction=0).instances
    strata = data.label_codes.astype(np.int64)
    first, again, other = (make_folds(data, strata, seed=s).fold for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def leaky_pairs_with_one_premise():
    rows = [("train", "the same", f"word{i} {'never' if i % 2 else 'some'}", "ab"[i % 2]) for i in range(400)]
    return pair_instances(rows)


def leaky_choices_with_one_question():
    return choice_instances(
        [
            ("train", "which?", [f"good w{i}", f"bad w{i}"][:: 1 if i % 3 else -1], 0 if i % 3 else 1)
            for i in range(300)
        ]
    )


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (leaky_pairs_with_one_premise(), "hypothesis_only"),
        (leaky_choices_with_one_question(), "choices_only"),
    ],
    ids=["pair", "choice"],
)
def test_a_leak_is_found_though_all_examples_share_their_premise(data, condition):
    folds = make_folds(data, np.zeros(data.n_examples, dtype=np.int64))
    assert folds.grouping == "example"
    assert folds.count == 5
    assert "100 %" in folds.note
    result = PartialInput(learning_curve=False).run(data)
    assert result.examples is not None
    assert result.examples[f"solved_{condition}"].mean() > 0.95


def test_one_fold_is_refused_instead_of_scored_at_chance():
    data = leaky_pairs_with_one_premise()
    with pytest.raises(Skip, match="at least two groups"):
        make_folds(data, np.zeros(data.n_examples, dtype=np.int64), grouping="premise")
    with pytest.raises(Skip, match="at least two groups"):
        make_folds(pair_instances([("train", "p", "h", "a")]), np.zeros(1, dtype=np.int64))


def test_edits_of_a_source_are_in_one_fold():
    rng = np.random.default_rng(3)
    words = np.array([f"w{k}" for k in range(300)])
    rows = []
    for source in range(120):
        text = rng.choice(words, 9)
        for _ in range(3):
            version = np.where(rng.random(9) < 0.3, rng.choice(words, 9), text)
            premise = " ".join(f"p{k}" for k in rng.integers(0, 4000, 7))
            rows.append(("train", premise, " ".join(version), "yes" if source % 2 else "no"))
    data = pair_instances(rows)
    fold = make_folds(data, data.label_codes.astype(np.int64)).fold.reshape(120, 3)
    assert (fold == fold[:, :1]).all(axis=1).mean() >= 0.85


def test_a_cluster_stays_in_one_fold_whatever_its_size():
    rng = np.random.default_rng(4)
    cluster = np.concatenate([np.zeros(240, int), 1 + np.arange(160) // 4])
    rows = pl.DataFrame(
        {
            "premise": [" ".join(f"p{k}" for k in rng.integers(0, 900, 6)) for _ in range(400)],
            "hypothesis": [" ".join(f"h{k}" for k in rng.integers(0, 900, 6)) for _ in range(400)],
            "label": np.where(rng.random(400) < 0.5, "yes", "no"),
            "writer": [f"writer {k}" for k in cluster],
        }
    )
    data = load(rows, cluster="writer")
    folds = make_folds(data, data.label_codes.astype(np.int64))
    spread = pl.DataFrame({"cluster": data.table["writer"], "fold": folds.fold})
    assert (spread.group_by("cluster").agg(pl.col("fold").n_unique())["fold"] == 1).all()
    assert folds.largest_group == 0.6
