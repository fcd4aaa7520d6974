from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.audits import Overview
from cuecard.data import load
from cuecard.data.splits import hold_out
from small_sets import choice_instances, pair_instances


def test_sizes_labels_and_lengths_are_counted_per_split():
    data = pair_instances(
        [
            ("train", "a b c", "d", "yes"),
            ("train", "a", "d e", "no"),
            ("train", "", "x y z", "no"),
            ("test", "q", "r", "yes"),
        ]
    )
    splits = Overview().run(data).summary["splits"]
    assert splits["train"]["labels"] == {"no": 2, "yes": 1}
    assert splits["train"]["hypothesis_tokens"] == {
        "mean": 2.0,
        "median": 2.0,
        "p5": 1.0,
        "p95": 3.0,
        "max": 3.0,
    }
    assert splits["train"]["empty_premise"] == 1
    assert splits["test"]["examples"] == 1


def test_duplicates_are_counted_exactly_and_up_to_case_and_punctuation():
    data = pair_instances(
        [
            ("train", "A man runs.", "He moves", "yes"),
            ("train", "A man runs.", "He moves", "yes"),
            ("train", "a man runs", "he moves!", "yes"),
            ("train", "A dog", "It barks", "no"),
        ]
    )
    summary = Overview().run(data).summary
    assert summary["duplicates"] == {"exact": 1, "normalised": 2}
    assert summary["conflicting_labels"] == 0


def test_the_same_input_with_two_labels_is_a_finding_with_an_example():
    data = pair_instances(
        [("train", "A man", "sleeps", "yes"), ("train", "a man.", "Sleeps", "no"), ("train", "x", "y", "no")]
    )
    result = Overview().run(data)
    assert result.summary["conflicting_labels"] == 2
    finding = next(f for f in result.findings if f.title == "Identical inputs have different labels")
    assert finding.n == 2
    assert finding.evidence[0].label == "no / yes"


def test_train_test_overlap_is_counted_by_pair_and_by_sentence():
    data = pair_instances(
        [
            ("train", "p1", "h1", "yes"),
            ("train", "p2", "h2", "no"),
            ("test", "P1!", "h1", "yes"),  # the pair
            ("test", "p2", "new", "no"),  # the premise
            ("test", "new", "h2", "no"),  # the hypothesis
            ("test", "h1", "fresh", "no"),  # a train hypothesis as premise
            ("test", "none", "at all", "yes"),
        ]
    )
    overlap = Overview().run(data).summary["overlap"]
    assert overlap == {
        "pair": 1, "hypothesis": 2, "premise": 2, "sentence": 4, "test_examples": 5, "answered": 1,
        "near": 1, "near_answered": 1,
    }  # fmt: skip


def test_test_examples_in_train_are_graded_by_what_memory_answers():
    train = [("train", f"p{i}", f"h{i}", "yes" if i % 2 else "no") for i in range(100)]
    for copied, severity in ((1, "low"), (10, "medium"), (30, "high")):
        fresh = [("test", f"q{i}", f"g{i}", "yes") for i in range(100 - copied)]
        known = [("test", premise, text, label) for _, premise, text, label in train[:copied]]
        finding = Overview().run(pair_instances([*train, *fresh, *known])).findings[-1]
        assert (finding.key, finding.severity) == ("test-examples-in-train", severity)
    turned = [("test", "p0", "h0", "yes"), *(("test", f"q{i}", "g", "yes") for i in range(9))]
    finding = Overview().run(pair_instances([*train, *turned])).findings[-1]
    assert finding.severity == "low"
    assert "also occurs in the training set" in finding.text
    assert "but not with the same answer" in finding.text


def test_choices_in_another_order_are_the_same_question():
    data = choice_instances(
        [
            ("train", "Why?", ["because", "so"], 0),
            ("train", "Why?", ["so", "because"], 1),
            ("train", "Why?", ["so", "because"], 0),
            ("train", "How?", ["thus", "so"], 0),
        ]
    )
    summary = Overview().run(data).summary
    assert summary["duplicates"]["exact"] == 2
    assert summary["conflicting_labels"] == 3


def test_a_choice_that_only_differs_in_the_separator_is_no_duplicate():
    data = choice_instances([("train", "?", ["a b", "c"], 0), ("train", "?", ["a", "b c"], 0)])
    assert Overview().run(data).summary["duplicates"]["normalised"] == 0


def test_an_answer_written_in_another_way_is_the_same_answer():
    data = choice_instances(
        [
            ("train", "Well?", ["Yes.", "No."], 0),
            ("train", "well", ["yes", "no"], 0),
            ("train", "?", ["a", "b"], 0),
        ]
    )
    result = Overview().run(data)
    assert result.summary["conflicting_labels"] == 0
    assert result.summary["duplicates"]["normalised"] == 1
    changed = choice_instances([("train", "Well?", ["Yes.", "No."], 0), ("train", "well", ["yes", "no"], 1)])
    assert Overview().run(changed).summary["conflicting_labels"] == 2


def test_inputs_that_differ_in_a_sign_are_different():
    rows = [("1 < 2", "yes"), ("1 > 2", "no"), ("C", "yes"), ("C++", "no"), ("5", "yes"), ("-5", "no")]
    summary = Overview().run(pair_instances([("train", "", text, label) for text, label in rows])).summary
    assert summary["conflicting_labels"] == 0
    assert summary["duplicates"]["normalised"] == 0


def test_a_test_question_overlaps_as_soon_as_one_of_its_choices_does():
    data = choice_instances(
        [
            ("train", "p", ["a", "b"], 0),
            ("train", "q", ["c", "d"], 0),
            ("test", "r", ["A!", "x", "b"], 0),  # two choices, in one question
            ("test", "s", ["y", "q"], 0),  # a train question as choice
            ("test", "P", ["u", "v"], 0),  # the question
            ("test", "p", ["b", "a"], 1),  # all of it
            ("test", "w", ["e", "f"], 1),
        ]
    )
    overlap = Overview().run(data).summary["overlap"]
    assert overlap == {
        "pair": 1, "hypothesis": 2, "premise": 2, "sentence": 4, "test_examples": 5, "answered": 1,
        "near": 1, "near_answered": 1,
    }  # fmt: skip


def test_empty_texts_are_in_no_overlap():
    data = pair_instances(
        [
            ("train", "", "", "yes"),
            ("train", "a", " ", "no"),
            ("test", "", "", "no"),
            ("test", "b", "", "yes"),
        ]
    )
    overlap = Overview().run(data).summary["overlap"]
    assert overlap == {
        "pair": 0,
        "hypothesis": 0,
        "premise": 0,
        "sentence": 0,
        "test_examples": 2,
        "near": 0,
        "near_answered": 0,
        "answered": 0,
    }


def test_a_held_out_split_has_no_sentence_in_train():
    rows = [("train", f"Text {i // 2}{'.!'[i % 2]}", f"other {i}", "yn"[i % 2]) for i in range(60)]
    data = hold_out(pair_instances(rows), 0.3)
    overlap = Overview().run(data).summary["overlap"]
    assert overlap["sentence"] == 0
    assert overlap["test_examples"] == 18


def test_long_texts_are_counted_in_wider_bins_and_not_piled_into_one():
    rows = [{"text": "w " * (150 + 10 * i), "label": "a" if i % 2 else "b"} for i in range(400)]
    lengths = Overview().run(load(rows)).tables["lengths"].filter(pl.col("field") == "hypothesis")
    per_length = lengths.group_by("tokens").agg(pl.col("count").sum())
    assert per_length["tokens"].max() >= 4000
    assert per_length["count"].max() <= 10


@pytest.mark.parametrize("task", ["text", "pair", "choice"])
def test_near_copies_of_training_examples_in_the_test_set_lead_with_their_answers(task):
    rng = np.random.default_rng(11)
    words = [f"w{k}" for k in range(500)]

    def text(n: int = 12) -> str:
        return " ".join(rng.choice(words, n))

    def example() -> dict[str, object]:
        label = "ab"[rng.integers(2)]
        if task == "text":
            return {"text": text(), "label": label}
        if task == "pair":
            return {"premise": text(), "hypothesis": text(), "label": label}
        return {"question": text(), "choices": [text(8) for _ in range(3)], "answer": int(rng.integers(3))}

    def edited(value: object) -> object:
        if isinstance(value, list):
            return [edited(choice) for choice in value]
        return f"{value} extra" if isinstance(value, str) and len(value) > 1 else value

    train = [example() for _ in range(200)]
    copies = [{name: edited(value) for name, value in row.items()} for row in train[:80]]
    test = [*copies, *(example() for _ in range(120))]
    result = Overview().run(load(pl.DataFrame(train), test=pl.DataFrame(test)))
    [finding] = [f for f in result.findings if f.key == "near-copies-in-train"]
    assert (finding.n, finding.value, finding.severity) == (80, 0.4, "high")
    assert result.summary["overlap"]["pair"] == 0
    fresh = Overview().run(load(pl.DataFrame(train), test=pl.DataFrame(test[80:])))
    assert "near-copies-in-train" not in {f.key for f in fresh.findings}
