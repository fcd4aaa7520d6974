from __future__ import annotations

import pytest

from cuecard.errors import UsageError
from cuecard.models.recipe import Recipe, recipes
from first_word_model import registered


@pytest.fixture(autouse=True)
def _models():
    with registered(), registered(name="other"):
        yield


def test_texts_become_the_types_that_the_model_declares():
    recipe = Recipe("first-word", options={"epochs": "3", "smoothing": "0.5"})
    assert recipe.options == {"epochs": 3, "smoothing": 0.5}
    assert recipe.new().epochs == 3


def test_a_setting_goes_to_every_model_or_to_the_one_it_names():
    found = recipes(["first-word", "other"], ["epochs=3", "other.epochs=5", "seed=1"])
    assert [one.options for one in found] == [{"epochs": 3, "seed": 1}, {"epochs": 5, "seed": 1}]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["epoch=3"], "Did you mean 'epochs'"),
        (["third.epochs=3"], "Unknown model in --set 'third'"),
        (["epochs=none-of-these"], "cannot be"),
        (["=3"], "PARAMETER=VALUE"),
    ],
)
def test_a_setting_that_nobody_has_is_told(settings, said):
    with pytest.raises(UsageError, match=said):
        recipes(["first-word", "other"], settings)


def test_options_that_a_model_lacks_are_left_out_of_shared_ones():
    assert Recipe("first-word").with_options(seed=4, weighting="sampler").options == {"seed": 4}


def test_defaults_leave_alone_what_a_recipe_names():
    recipe = Recipe("first-word", options={"seed": 7}).with_defaults(seed=4, epochs=5, weighting="sampler")
    assert recipe.options == {"epochs": 5, "seed": 7}


def test_what_fields_hold_after_fit_is_no_parameter():
    assert "labels_" not in Recipe("first-word").contents["parameters"]
