from __future__ import annotations

import pytest

from cuecard.errors import InputError, UsageError
from cuecard.probes import asked_recipes, trained_predictions
from first_word_model import FirstWord
from small_sets import pair_instances

pytestmark = pytest.mark.usefixtures("first_word")


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
    sharp, flat = (
        trained_predictions(data, *asked_recipes(["first-word-hypothesis"], [setting]))
        for setting in ("smoothing=0.01", "first-word.smoothing=100")
    )
    assert sharp.probabilities.max() > 0.9 > flat.probabilities.max()


def test_a_setting_goes_to_every_model_that_has_it_and_one_that_none_has_is_an_error():
    linear, fasttext = asked_recipes(["linear", "fasttext-hypothesis"], ["dimensions=8", "linear.strength=2"])
    assert (dict(linear.options), dict(fasttext.options)) == ({"strength": 2.0}, {"dimensions": 8})
    assert fasttext.name == "fasttext-hypothesis"
    with pytest.raises(UsageError, match="Unknown parameter 'dimension'"):
        asked_recipes(["linear", "fasttext"], ["dimension=8"])


@pytest.mark.parametrize("name", ["linear", "fasttext"])
@pytest.mark.parametrize("setting", ["epochs=2", "ngrams=2"])
def test_tokens_reach_a_model_that_has_settings_unless_they_name_them(data, name, setting):
    def probabilities(*settings, tokens=None):
        [recipe] = asked_recipes([name], [setting, *settings])
        return trained_predictions(data, recipe, tokens=tokens).probabilities.tolist()

    assert probabilities(tokens="chars") != probabilities()
    assert probabilities(tokens="chars") == probabilities("tokens=chars", tokens="treebank")


def test_a_seed_among_the_settings_wins(data):
    def probabilities(*settings, seed):
        [recipe] = asked_recipes(["fasttext"], ["epochs=2", *settings])
        return trained_predictions(data, recipe, seed=seed).probabilities.tolist()

    assert probabilities("seed=7", seed=0) == probabilities(seed=7) != probabilities(seed=0)
