from __future__ import annotations

import numpy as np
from benchmarks.demo_shapes import demo_elimination

from cuecard.data.splits import train_overlap
from small_sets import choice_instances, pair_instances


def test_each_way_of_overlap_is_told_apart():
    train = [("train", "A man sleeps.", "He rests.", "yes"), ("train", "Dogs run.", "Cats sit.", "no")]
    test = [
        ("test", "a man sleeps", "he rests!", "no"),  # the pair, whatever its label
        ("test", "A man sleeps.", "New words.", "yes"),  # the premise
        ("test", "New words.", "Cats sit.", "yes"),  # the hypothesis
        ("test", "cats sit", "A third one.", "no"),  # a hypothesis of train as premise: a sentence
        ("test", "", "Nothing known.", "no"),
    ]
    found = train_overlap(pair_instances(train + test))
    assert found.pair.tolist() == [True, False, False, False, False]
    assert found.premise.tolist() == [True, True, False, False, False]
    assert found.hypothesis.tolist() == [True, False, True, False, False]
    assert found.sentence.tolist() == [True, True, True, True, False]
    assert found.counts() == {"pair": 1, "hypothesis": 2, "premise": 2, "sentence": 4, "test_examples": 5}


def test_choices_in_another_order_are_the_same_question():
    questions = [
        ("train", "q", ["one", "two"], 0),
        ("test", "q", ["two", "one"], 1),
        ("test", "q", ["two", "three"], 1),
        ("test", "other", ["four", "five"], 1),
    ]
    found = train_overlap(choice_instances(questions))
    assert found.pair.tolist() == [True, False, False]
    assert found.hypothesis.tolist() == [True, True, False]
    assert found.sentence.tolist() == [True, True, False]


def test_empty_pairs_and_sets_without_a_test_split_overlap_nowhere():
    rows = [("train", "", "", "a"), ("test", "", "", "b")]
    assert not train_overlap(pair_instances(rows)).pair.any()
    assert len(train_overlap(pair_instances([("train", "p", "h", "a")]))) == 0


def test_premises_of_the_elimination_demo_occur_in_both_splits():
    data = demo_elimination(200)
    found = train_overlap(data)
    premises = set(data.train.table["premise"])
    assert data.test is not None
    assert np.array_equal(found.premise, [p in premises for p in data.test.table["premise"]])
    assert not found.pair.any()
