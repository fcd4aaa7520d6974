"""Numbers that a parameter cannot be are refused in one sentence before any work."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.errors import InputError, UsageError
from cuecard.probes import read_predictions
from small_sets import pair_instances

ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]
PAIRS = pair_instances(ROWS)


def read() -> cc.Instances:
    raise AssertionError("data was read")


@pytest.mark.parametrize("seed", [-1, 2**32, 2**70, 1.5, "x", math.nan, math.inf])
def test_what_is_no_seed_is_refused_everywhere(seed, tmp_path):
    frame = pl.DataFrame({"text": ["a", "b"] * 5, "label": ["x", "y"] * 5})
    calls = [
        lambda: cc.audit(read, seed=seed),
        lambda: cc.audit(read, audits=[cc.PartialInput(seed=seed)]),
        lambda: cc.load(frame, seed=seed),
        lambda: cc.debias(PAIRS, "neutral", seed=seed),
        lambda: cc.train(PAIRS, seed=seed),
        lambda: cc.ask(read, "http://127.0.0.1:9/v1", "m", seed=seed),
    ]
    for call in calls:
        with pytest.raises(
            UsageError, match=r"seed must be a whole number|'seed' of the model 'linear' cannot be"
        ):
            call()


def test_whole_numbers_of_any_type_are_seeds():
    for seed in (0, np.int64(3), 2**32 - 1):
        assert cc.audit(PAIRS, only="overview", seed=seed).sections["overview"].status == "done"


@pytest.mark.parametrize(
    "settings",
    [
        {"partial_input": {"folds": 1}},
        {"partial_input": {"folds": 10**6}},
        {"pair_graph": {"folds": 10**6}},
        {"partial_input": {"ngrams": -1}},
        {"partial_input": {"ngrams": 2**63}},
        {"partial_input": {"strength": math.inf}},
        {"partial_input": {"strength": 0.0}},
        {"clusters": {"components": 1}},
        {"cues": {"min_count": 2**63}},
        {"cues": {"alpha": math.nan}},
    ],
)
def test_a_number_out_of_range_names_its_parameter(settings):
    [(section, parameters)] = settings.items()
    [name] = parameters
    with pytest.raises(UsageError, match=name):
        cc.audit(read, only=[section], settings=settings)


def test_a_single_name_may_be_written_as_text():
    assert list(cc.audit(PAIRS, only="overview").sections) == ["overview"]
    assert list(cc.audit(PAIRS, only="overview, cues", skip="cues").sections) == ["overview"]
    with pytest.raises(UsageError, match="leaves no audit"):
        cc.audit(read, only="cues", skip="cues")


def questions(answers: list[object]) -> pl.DataFrame:
    rows = {"question": [f"q{i}" for i in range(8)], "choices": [["a", "b", "c"]] * 8}
    return pl.DataFrame({**rows, "answer": answers})


@pytest.mark.parametrize("answer", [9.3e18, 1e30, math.inf])
def test_an_answer_beyond_integers_is_an_error_and_not_missing(answer):
    with pytest.raises(InputError, match=r"Row 8 .* has the answer"):
        cc.load(questions([1.0, 0.0] * 3 + [2.0, answer]))


@pytest.mark.parametrize("prediction", [-1, "-1", 3, 2**63, -(2**62)])
def test_a_position_outside_of_the_choices_is_no_prediction(prediction):
    data = cc.load(questions([0, 1, 2, 0, 1, 2, 0, 1]), test=questions([0, 1, 2, 0, 1, 2, 0, 1]))
    ids = data.test.table["example_id"].unique(maintain_order=True)
    table = pl.DataFrame({"id": ids, "prediction": [0, 1, 2, 0, 1, 2, 0, prediction]}, strict=False)
    with pytest.raises(InputError, match="none of the example's choices"):
        read_predictions(table, data)


def test_no_feature_points_to_a_label_that_only_test_has():
    rows = [*ROWS, *(("test", f"premise {i}", f"hypothesis {i % 7}", "maybe") for i in range(20))]
    card = cc.audit(pair_instances(rows), only="cues")
    assert set(card.tables["cues"]["label"]) <= {"yes", "no"}
    assert card.dataset.notes == [
        "20 test examples have the label 'maybe', which no training example has: there are no cues for it, and no "
        "model can predict it."
    ]


def test_splits_that_name_their_labels_differently_say_how_to_name_them_alike():
    test = [("test", f"premise {i}", f"hypothesis {i % 7}", ("agrees", "denies")[i % 2]) for i in range(20)]
    assert cc.audit(pair_instances([*ROWS, *test]), only="cues").dataset.notes[-1] == (
        "No label of the test set occurs in the training set, which has no and yes: if they mean the same, name them "
        "alike with --labels agrees=NAME,denies=NAME."
    )
