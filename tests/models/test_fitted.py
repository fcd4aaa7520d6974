from __future__ import annotations

import numpy as np
import pytest

from cuecard.errors import InputError
from cuecard.models.fitted import answer_probabilities, check_labels_seen, fitted
from cuecard.models.recipe import Recipe
from first_word_model import FirstWord
from small_sets import choice_instances, pair_instances

pytestmark = pytest.mark.usefixtures("first_word")


@pytest.fixture
def data():
    rows = [("train", "p", "rain today", "no"), ("train", "p", "sun today", "yes")] * 10
    return pair_instances([*rows, ("test", "p", "rain again", "no"), ("test", "q", "sun again", "yes")])


@pytest.fixture
def fits(monkeypatch):
    """How often a model was fitted."""
    counted: list[int] = []
    original = FirstWord.fit

    def fit(self, *args, **kwargs):
        counted.append(1)
        return original(self, *args, **kwargs)

    monkeypatch.setattr(FirstWord, "fit", fit)
    return counted


def test_the_same_is_trained_once(data, fits):
    recipe = Recipe("first-word", "hypothesis")
    first = fitted(recipe, data.train, [data.test]).probabilities
    again = fitted(recipe, data.train, [data.test]).probabilities
    assert len(fits) == 1
    assert np.array_equal(first[0], again[0])
    assert first[0].argmax(axis=1).tolist() == [0, 1]


@pytest.mark.parametrize("changed", ["condition", "options", "weights", "scored"])
def test_whatever_predictions_depend_on_makes_it_train_again(data, fits, changed):
    fitted(Recipe("first-word", "hypothesis"), data.train, [data.test])
    condition = "premise" if changed == "condition" else "hypothesis"
    options = {"epochs": 3} if changed == "options" else {}
    weights = np.linspace(0.5, 1.5, len(data.train)) if changed == "weights" else None
    scored = [data.train] if changed == "scored" else [data.test]
    fitted(Recipe("first-word", condition, options), data.train, scored, weights=weights)
    assert len(fits) == 2


def test_a_damaged_file_is_made_anew(data, fits, tmp_path):
    recipe = Recipe("first-word")
    [kept] = fitted(recipe, data.train, [data.test]).probabilities
    for file in (tmp_path / "cache" / "fitted").glob("*.npz"):
        file.write_bytes(file.read_bytes()[:100])
    [made] = fitted(recipe, data.train, [data.test]).probabilities
    assert len(fits) == 2
    assert np.array_equal(kept, made)


def test_a_stopped_run_goes_on_from_its_checkpoint(data):
    recipe = Recipe("first-word", options={"epochs": 4})

    def stop(step):
        if step.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(recipe, data.train, [data.test], watch=stop)
    steps = []
    fitted(recipe, data.train, [data.test], watch=lambda step: steps.append(step.epoch))
    assert steps == [4]


def test_choices_have_a_column_per_position_and_none_beyond_their_own():
    data = choice_instances(
        [("train", "q", ["yes a", "no b", "no c"], 0), ("train", "r", ["no a", "yes b"], 1)]
    )
    model = FirstWord().fit(data, condition="choices")
    matrix = answer_probabilities(model, data)
    assert matrix.shape == (2, 3)
    assert matrix[1, 2] == 0
    assert matrix.sum(axis=1) == pytest.approx([1, 1])
    assert matrix.argmax(axis=1).tolist() == [0, 1]


def test_a_label_unseen_in_training_is_told_with_its_number():
    rows = [("train", "p", "a", "no"), ("train", "p", "b", "yes"), ("test", "p", "c", "maybe")]
    data = pair_instances(rows)
    with pytest.raises(InputError, match="1 of 1 test examples have the label 'maybe'"):
        fitted(Recipe("first-word"), data.train, [data.test])


def test_a_label_that_is_only_written_otherwise_is_answered_with_what_to_type():
    data = pair_instances([("train", "p", "a", "NO"), ("train", "p", "b", "YES"), ("test", "p", "c", "no")])
    with pytest.raises(InputError, match=r"which the training set spells 'NO': .* --labels no=NO"):
        check_labels_seen(data.train, [data.test])
