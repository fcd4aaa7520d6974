"""Published sets: what their partial input is known to give away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import cuecard as cc
from cuecard.audits import PartialInput

FindData = Callable[[str], Path]


def lines(real_data: FindData, train: str, test: str) -> dict[str, dict]:
    data = cc.load(real_data(f"{train}.parquet"), test=real_data(f"{test}.parquet"))
    result = PartialInput(learning_curve=False, cross_fit=False).run(data)
    return {line["name"]: line for line in result.summary["baselines"]}


#: train, test, what TF-IDF and logistic regression per choice reach, what the longest answer reaches.
CHOICES = {
    "openbookqa": ("openbookqa/train", "openbookqa/test", 0.456, 0.364, "above"),
    "reclor": ("reclor/train", "reclor/val", 0.398, 0.291, "above"),
    "race": ("race/validation_middle", "race/test_middle", 0.288, 0.306, "above"),
    "arc": ("arc_challenge/train", "arc_challenge/test", 0.276, 0.274, "above"),
    "mmlu": ("mmlu/val", "mmlu/test", 0.269, 0.282, "above"),
    # The within-example learner finds a little more than TF-IDF: 55.9 %, p = 0.009, a borderline case.
    "copa": ("copa/dev", "copa/test", 0.532, 0.478, "above"),
    "arct": ("arct/train", "arct/test", 0.529, 0.464, "at"),
    "commonsenseqa": ("commonsenseqa/train", "commonsenseqa/dev", 0.132, 0.222, "below"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_alone_reach_the_known_score_and_the_longest_answer_exactly(name, real_data):
    train, test, reached, longest, direction = CHOICES[name]
    found = lines(real_data, train, test)
    assert found["choices_only"]["accuracy"] >= reached
    assert found["choices_only"]["direction"] == direction
    assert found["longest"]["accuracy"] == pytest.approx(longest, abs=0.0006)


def test_adversarial_arct_is_exactly_at_chance(real_data):
    found = lines(real_data, "arct_adversarial/train_adv_negated", "arct_adversarial/test_adv_negated")
    for name in ("choices_only", "longest", "shortest", "length"):
        assert found[name]["accuracy"] == pytest.approx(0.5, abs=1e-12)


def test_snli_hypotheses_alone_leak_and_premises_alone_do_not(real_data):
    found = lines(real_data, "snli/train_partial", "snli/test")
    assert found["hypothesis_only"]["accuracy"] >= 0.64
    assert found["hypothesis_only"]["chance"] == pytest.approx(0.343, abs=0.0005)
    assert found["premise_only"]["direction"] == "at"
    assert found["full"]["accuracy"] > 0.7


def test_counterfactual_nli_is_close_to_chance(real_data):
    found = lines(real_data, "caugnli/all_combined_train", "caugnli/all_combined_test")
    assert found["hypothesis_only"]["accuracy"] - found["hypothesis_only"]["chance"] < 0.05
