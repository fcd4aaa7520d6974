from __future__ import annotations

import pytest

from cuecard.errors import InputError, UsageError
from cuecard.probes import trained_predictions
from first_word_model import FirstWord, registered
from small_sets import pair_instances


@pytest.fixture(autouse=True)
def _model(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    with registered():
        yield


@pytest.fixture
def data():
    rows = [("train", "warm p", "rain today", "no"), ("train", "cold p", "sun today", "yes")] * 10
    return pair_instances(
        [*rows, ("test", "cold q", "rain again", "no"), ("test", "warm q", "sun again", "yes")]
    )


def test_a_registered_model_is_trained_on_train_and_predicts_test(data):
    hypothesis = trained_predictions(data, "first-word-hypothesis")
    premise = trained_predictions(data, "first-word-premise")
    assert hypothesis.answers.tolist() == [0, 1]
    assert premise.answers.tolist() == [1, 0]
    assert hypothesis.model == "first-word-hypothesis"
    assert hypothesis.probabilities.sum(axis=1) == pytest.approx([1, 1])


def test_a_folder_of_a_saved_model_predicts_without_training(data, tmp_path):
    FirstWord().fit(data.train, condition="hypothesis").save(tmp_path / "mine")
    found = trained_predictions(data, str(tmp_path / "mine"))
    assert found.answers.tolist() == [0, 1]
    assert found.model == "mine"


def test_a_saved_model_of_other_labels_is_refused(data, tmp_path):
    other = pair_instances([("train", "p", "a", "off"), ("train", "p", "b", "on")])
    FirstWord().fit(other).save(tmp_path / "mine")
    with pytest.raises(InputError, match="knows the labels off, on, and the data has 'no'"):
        trained_predictions(data, str(tmp_path / "mine"))


def test_an_unknown_model_lists_the_nearest(data):
    with pytest.raises(UsageError, match="Did you mean 'first-word"):
        trained_predictions(data, "first-world")


def test_settings_reach_the_model(data):
    sharp = trained_predictions(data, "first-word-hypothesis", settings=["smoothing=0.01"])
    flat = trained_predictions(data, "first-word-hypothesis", settings=["first-word.smoothing=100"])
    assert sharp.probabilities.max() > 0.9 > flat.probabilities.max()
