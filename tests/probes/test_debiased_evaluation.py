"""Accuracy with and without weights, from a file of predictions."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.probes import debiased_evaluation


@pytest.fixture
def data() -> Instances:
    table = pl.DataFrame(
        {
            "example_id": ["t1", "a", "b", "c", "d"], "position": 0, "split": ["train", *["test"] * 4],
            "premise": "p", "hypothesis": "h",
            "label": pl.Series(["x", "x", "x", "y", "y"]).cast(pl.Enum(["x", "y"])),
        }
    )  # fmt: skip
    return Instances(table, "pair", ("x", "y"))


WEIGHTS = pl.DataFrame(
    {
        "example_id": ["t1", "a", "b", "c", "d"],
        "split": ["train", *["test"] * 4],
        "weight": [9.0, 1.0, 1.0, 3.0, 1.0],
    }
)


def test_every_model_has_both_accuracies_and_stands_beside_the_majority(data: Instances) -> None:
    predictions = pl.DataFrame(
        {
            "example_id": ["d", "c", "b", "a"] * 2,
            "prediction": list("yyxx") + list("xxxx"),
            "model": ["m"] * 4 + ["n"] * 4,
        }
    )
    found = debiased_evaluation(data, predictions, WEIGHTS)
    assert found["model"].to_list() == ["majority", "m", "n"]
    assert found["accuracy"].to_list() == pytest.approx([0.5, 1.0, 0.5])
    assert found["weighted_accuracy"].to_list() == pytest.approx([4 / 6, 1.0, 2 / 6])
    assert found["change"][2] == pytest.approx(2 / 6 - 0.5)
    assert (found["weighted_low"] <= found["weighted_accuracy"]).all()
    assert found["effective_n"][1] == pytest.approx(3)  # all right: (Σ w)² / Σ w²


def test_a_choice_is_predicted_by_its_position() -> None:
    table = pl.DataFrame(
        {
            "example_id": ["q", "q", "r", "r"], "position": [0, 1, 0, 1], "split": "test", "premise": "p",
            "hypothesis": ["a", "b", "c", "d"],
            "label": pl.Series(["wrong", "right", "right", "wrong"]).cast(pl.Enum(["right", "wrong"])),
        }
    )  # fmt: skip
    choices = Instances(table, "choice", ("right", "wrong"))
    weights = pl.DataFrame({"example_id": ["q", "r"], "split": "test", "weight": [1.0, 3.0]})
    found = debiased_evaluation(
        choices, pl.DataFrame({"example_id": ["q", "r"], "prediction": [1, 1]}), weights
    )
    assert found.filter(model="model")["accuracy"].item() == 0.5
    assert found.filter(model="model")["weighted_accuracy"].item() == 0.25


def test_missing_and_doubled_predictions_are_named(data: Instances) -> None:
    with pytest.raises(InputError, match=r"lack 3 of 4 test examples, such as 'b'"):
        debiased_evaluation(data, pl.DataFrame({"example_id": ["a"], "prediction": ["x"]}), WEIGHTS)
    with pytest.raises(InputError, match="twice"):
        debiased_evaluation(
            data, pl.DataFrame({"example_id": list("aabcd"), "prediction": list("xxxyy")}), WEIGHTS
        )
    predictions = pl.DataFrame({"example_id": list("abcd"), "prediction": list("xxyy")})
    with pytest.raises(InputError, match="have no weight"):
        debiased_evaluation(data, predictions, WEIGHTS.head(2))
    with pytest.raises(UsageError, match="dev"):
        debiased_evaluation(data, pl.DataFrame(), WEIGHTS, split="dev")


def test_a_model_that_only_follows_the_leak_falls_to_chance_under_neutral_weights() -> None:
    rng = np.random.default_rng(0)
    n = 6000
    label = rng.integers(0, 2, n)
    leak = np.where(rng.random(n) < 0.8, label, 1 - label)
    names = np.array(["no", "yes"])
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)], "position": 0, "split": "test", "premise": "p", "hypothesis": "h",
            "label": pl.Series(names[label]).cast(pl.Enum(["no", "yes"])),
        }
    )  # fmt: skip
    weights = pl.DataFrame(
        {"example_id": table["example_id"], "split": "test", "weight": 1 / np.where(label == leak, 0.8, 0.2)}
    )
    predictions = pl.DataFrame({"example_id": table["example_id"], "prediction": names[leak]})
    row = debiased_evaluation(Instances(table, "pair", ("no", "yes")), predictions, weights).row(
        1, named=True
    )
    assert row["accuracy"] > 0.78
    assert row["weighted_low"] < 0.5 < row["weighted_high"]
