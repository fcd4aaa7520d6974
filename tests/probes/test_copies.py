from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration.probes import choice_verdicts, copied_test, levels, sharing_test
from benchmarks.calibration.units import random_words

import cuecard as cc
from cuecard.data import Examples
from cuecard.probes.examples import shared_texts
from cuecard.probes.predictions import Predictions, counted_once, distinct_examples
from small_sets import choice_instances, pair_instances

LONG = "the quick brown fox jumps over one lazy dog today"


def test_copies_in_the_test_set_do_not_make_a_coin_look_as_if_it_used_words():
    draw = partial(copied_test, distinct=90)
    apart, once = levels(6, draw, once=False), levels(6, draw)
    for test in ("accuracy", "distribution", "usual", "given_length"):
        assert getattr(apart, test) >= 0.15  # more than 3 standard errors above 5 %
        assert getattr(once, test) <= 0.12  # 60 tests at 5 %


def test_answers_that_pairs_with_one_hypothesis_share_do_not_look_like_the_use_of_a_word():
    draw = partial(sharing_test, n=400, texts=40)
    apart, shared = levels(5, draw, once=False), levels(5, draw)
    for test in ("distribution", "contrast", "usual", "given_length"):
        assert getattr(apart, test) >= 0.2
        assert getattr(shared, test) <= 0.16  # 50 tests at 5 %


def test_units_are_premises_and_hypotheses_and_none_where_no_text_occurs_twice():
    data, _ = sharing_test(0, n=40, texts=8)
    assert data.test is not None
    [codes] = shared_texts(Examples(data.test))
    assert len(set(codes.tolist())) == data.test.table["hypothesis"].n_unique()
    alone = random_words("pair", 40, seed=3)
    assert shared_texts(Examples(alone)) == []
    column = alone.table.with_columns(writer=pl.Series([i // 4 for i in range(40)]))
    [codes] = shared_texts(Examples(replace(alone, table=column, cluster="writer")))
    assert codes.tolist() == [i // 4 for i in range(40)]


def test_a_model_that_avoids_the_longest_choice_is_seen_and_one_that_does_not_is_not():
    assert choice_verdicts(3, n=300, longest=-0.6)["avoids, longest"] >= 0.66
    assert choice_verdicts(4, n=200)["any"] <= 0.5


def test_copies_are_examples_with_the_same_texts_and_the_same_right_answer():
    rows = [("train", f"p{i}", f"h{i}", "ab"[i % 2]) for i in range(4)]
    rows += [
        ("test", "P one!", LONG, "a"),
        ("test", "p one", LONG.upper(), "a"),
        ("test", "p one", LONG, "b"),
    ]
    rows += [("test", "p one", LONG.replace("fox", "cat"), "a"), ("test", "p two", LONG, "a")]
    test = pair_instances(rows).test
    assert test is not None
    assert [part.tolist() for part in distinct_examples(Examples(test))] == [[0, 2, 4], [3, 1, 1]]
    questions = [
        ("test", "q", ["one", "two"], 0),
        ("test", "q", ["two", "one"], 1),
        ("test", "q", ["one", "two"], 1),
    ]
    assert distinct_examples(Examples(choice_instances(questions)))[0].tolist() == [0, 2]


def test_a_column_of_clusters_is_no_column_of_copies():
    data, _ = copied_test(0, distinct=20)
    named = replace(data.with_columns(topic=pl.Series(np.arange(len(data)) % 2)), cluster="topic")
    assert named.test is not None
    assert len(distinct_examples(Examples(named.test))[0]) == 20


def test_a_few_copies_change_nothing_and_one_example_often_does():
    rows = [("train", f"p{i}", f"h{i}", "ab"[i % 2]) for i in range(4)]
    rows += [("test", f"p{max(i, 1)}", f"h{max(i, 1)}", "a") for i in range(150)]
    data, model = pair_instances(rows), Predictions("m", np.zeros(150, dtype=np.int64))
    same, [predictions], note = counted_once(data, [model])
    assert same is data
    assert predictions is model
    assert note == ""
    often = pair_instances(rows + [("test", "p7", "h7", "a")] * 10)
    _, [fewer], note = counted_once(often, [Predictions("m", np.zeros(160, dtype=np.int64))])
    assert len(fewer.answers) == 149
    assert note.startswith("160 test examples are 149 distinct ones")


def test_a_card_of_probes_says_how_many_test_examples_are_distinct():
    data, model = copied_test(1, distinct=60)
    card = cc.probe(data, [model], only=["accuracy_test"], cues=["w4"], features=("word",), min_count=1)
    n = len(model.answers)
    assert card.measure("accuracy_test.accuracy.coin").n == 60
    [note] = [note for note in card.dataset.notes if "distinct" in note]
    assert note.startswith(
        f"{n} test examples are 60 distinct ones; copies with the same right answer count once"
    )
    assert card.tables["examples"].filter(split="test").height == n
    every = cc.probe(
        data, [model], only=["accuracy_test"], cues=["w4"], features=("word",), min_count=1, keep_copies=True
    )
    assert every.measure("accuracy_test.accuracy.coin").value == pytest.approx(
        np.mean(model.correct(Examples(data.test)))
    )
    assert not any("distinct" in note for note in every.dataset.notes)
    accuracy = card.measure("accuracy_test.accuracy.coin").value
    kept = data.test
    assert kept is not None
    unit = Examples(kept).units("example")
    first = np.unique(unit, return_index=True)[1]
    assert accuracy == pytest.approx(np.mean(model.correct(Examples(kept))[first]))
