"""Word vectors read from a file, and the siamese LSTM as Selection's authors released it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuecard.errors import InputError
from cuecard.models import MODELS
from cuecard.models.examples import examples_of
from cuecard.models.neural.word_vectors import FIRST_WORD, PADDING, Vocabulary, filed_vectors
from cuecard.models.recipe import Recipe
from planted_cues import TINY, cue_pairs


def vectors_in(folder: Path, text: str = "2 3\nnobody 1 0 -2\nother 4 5 6\n") -> str:
    file = folder / "vectors.txt"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_known_words_get_the_vectors_of_the_file_and_others_random_ones(tmp_path: Path) -> None:
    vectors = filed_vectors(vectors_in(tmp_path), Vocabulary("default", ("absent", "nobody")), 3, seed=0)
    assert vectors[FIRST_WORD + 1].tolist() == [1, 0, -2]
    assert vectors[FIRST_WORD].any()
    assert not vectors[PADDING].any()


def test_a_word_with_spaces_is_not_taken_for_its_first_part(tmp_path: Path) -> None:
    file = vectors_in(tmp_path, "nobody 1 0 -2\n. 7 8 9\n. . . 4 5 6\n")
    vectors = filed_vectors(file, Vocabulary("default", (".",)), 3, seed=0)
    assert vectors[FIRST_WORD].tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nobody 1 2\n", "--set dimensions=2"),
        ("nobody 1 two 3\n", "not all values"),
        ("nobody 1 nan 3\n", "not finite"),
        ("", "holds no word vectors"),
    ],
)
def test_unusable_vectors_are_refused_before_training(text: str, said: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    model = MODELS.get("siamese-lstm")(**{**TINY, "dimensions": 3, "vectors": vectors_in(tmp_path, text)})
    with pytest.raises(InputError, match=said):
        model.fit(cue_pairs(40))


def test_a_missing_file_of_vectors_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vectors=FILE"):
        _ = Recipe("esim", options={"vectors": str(tmp_path / "none.txt")}).contents


def test_another_content_of_the_file_is_another_recipe(tmp_path: Path) -> None:
    def contents(text: str) -> dict[str, Any]:
        return Recipe("esim", options={"vectors": vectors_in(tmp_path, text)}).contents

    assert contents("a 1 2\n") != contents("a 1 3\n")


def test_the_plain_siamese_lstm_compares_by_one_number_and_keeps_its_vectors(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    parameters = {**TINY, "dimensions": 3, "epochs": 2, "vectors": vectors_in(tmp_path)}
    model = MODELS.get("siamese-lstm-plain")(**parameters).fit(cue_pairs(80))
    linear = [part for part in model.module_.compare if hasattr(part, "in_features")]
    assert [part.in_features for part in linear] == [2 * TINY["hidden"] + 1]
    number = FIRST_WORD + model.vocabulary.words.index("nobody")
    np.testing.assert_array_equal(model.module_.words.weight[number].detach().numpy(), [1, 0, -2])


def test_dynamics_of_a_validation_set_follow_those_of_the_training_set() -> None:
    pytest.importorskip("torch")
    model = MODELS.get("siamese-lstm-plain")(**{**TINY, "epochs": 1}).fit(
        cue_pairs(40), validation=cue_pairs(20, seed=1), dynamics=True
    )
    assert model.dynamics_.probability.shape == (1, 60)
    assert model.dynamics_.held_out.tolist() == [False] * 40 + [True] * 20
    dev = cue_pairs(20, seed=1)
    chances = model.predict_proba(dev)[np.arange(20), examples_of(dev, model.labels_).gold]
    np.testing.assert_allclose(model.dynamics_.probability[0, 40:], chances, atol=1e-5)
