"""All torch models of words: what they learn, what they cannot see, and what they do with odd input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.models import MODELS, TextModel, load_model
from cuecard.models.examples import accuracy, examples_of
from planted_cues import TINY, cue_choices, cue_pairs
from small_sets import pair_instances

pytest.importorskip("torch")

NAMES = ["bilstm", "siamese-lstm", "esim"]


def fitted(name: str, data: Instances, *, condition: Any = "full", **parameters: Any) -> Any:
    given = {key: parameters.pop(key) for key in ("weights", "dynamics", "validation") if key in parameters}
    return MODELS.get(name)(**{**TINY, **parameters}).fit(data, condition=condition, **given)


def score(model: Any, data: Instances) -> float:
    return accuracy(model.predict_proba(data), examples_of(data, model.labels_))


@pytest.mark.parametrize("name", NAMES)
def test_a_planted_cue_is_learned_and_survives_saving(name: str, tmp_path: Path) -> None:
    model = fitted(name, cue_pairs())
    unseen = cue_pairs(100, seed=1)
    assert isinstance(model, TextModel)
    assert score(model, unseen) > 0.95
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert type(again) is type(model)
    assert (again.predict_proba(unseen) == model.predict_proba(unseen)).all()
    assert (again.embed(unseen) == model.embed(unseen)).all()
    assert again.embed(unseen).shape[0] == 100
    assert [epoch.loss for epoch in again.history_] == [epoch.loss for epoch in model.history_]
    assert {file.suffix for file in (tmp_path / "model").iterdir()} == {".json", ".safetensors"}


@pytest.mark.parametrize("name", NAMES)
def test_hypothesis_only_cannot_see_the_premise(name: str) -> None:
    data = cue_pairs(where="premise")
    model = fitted(name, data, condition="hypothesis", epochs=2)
    swapped = data.with_columns(premise=pl.col("premise").reverse())
    assert (model.predict_proba(swapped) == model.predict_proba(data)).all()
    assert (model.embed(swapped) == model.embed(data)).all()


@pytest.mark.parametrize("name", NAMES)
def test_premise_only_learns_from_the_premise_alone(name: str) -> None:
    data, unseen = cue_pairs(where="premise"), cue_pairs(100, seed=1, where="premise")
    model = fitted(name, data, condition="premise")
    assert score(model, unseen) > 0.95
    swapped = unseen.with_columns(hypothesis=pl.col("hypothesis").reverse())
    assert (model.predict_proba(swapped) == model.predict_proba(unseen)).all()


@pytest.mark.parametrize("name", NAMES)
def test_choices_are_scored_within_their_question(name: str) -> None:
    data, unseen = cue_choices(), cue_choices(60, seed=1)
    model = fitted(name, data, batch_size=16)
    found = model.predict_proba(unseen)
    assert found.shape == (len(unseen),)
    np.testing.assert_allclose(np.bincount(unseen.example_codes, weights=found), 1)
    assert score(model, unseen) > 0.9
    alone = fitted(name, data, batch_size=16, epochs=1, condition="choices")
    hidden = unseen.with_columns(premise=pl.col("premise").reverse())
    assert (alone.predict_proba(hidden) == alone.predict_proba(unseen)).all()


@pytest.mark.parametrize("name", NAMES)
def test_one_seed_gives_the_same_predictions_and_another_does_not(name: str) -> None:
    data = cue_pairs(64)
    first, again, other = (fitted(name, data, epochs=1, seed=seed).predict_proba(data) for seed in (3, 3, 4))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("weighting", ["loss", "sampler"])
@pytest.mark.parametrize("name", ["bilstm", "esim"])
def test_weights_become_shares_of_the_prediction(name: str, weighting: str) -> None:
    rows = [("train", "a premise", "the same words", "yes" if i % 2 else "no") for i in range(200)]
    data = pair_instances(rows)
    weights = np.where(np.arange(200) % 2, 3.0, 1.0)
    model = fitted(
        name, data, weights=weights, weighting=weighting, batch_size=8, learning_rate=0.003, held_out=0
    )
    assert model.predict_proba(data)[0, 1] == pytest.approx(0.75, abs=0.09)


def test_weights_of_zero_leave_examples_out() -> None:
    data = cue_pairs(300, where="hypothesis")
    wrong = pl.Series(["yes", "no"] * 150, dtype=data.table["label"].dtype)
    mixed = data.with_columns(
        label=pl.when(pl.int_range(pl.len()) < 150).then(wrong).otherwise(pl.col("label"))
    )
    weights = np.where(np.arange(300) < 150, 0.0, 1.0)
    for weighting in ("loss", "sampler"):
        model = fitted("siamese-lstm", mixed, weights=weights, weighting=weighting, held_out=0)
        assert score(model, cue_pairs(100, seed=1)) > 0.9, weighting


def test_one_example_of_any_weight_is_enough_to_train() -> None:
    weights = np.zeros(40)
    weights[7] = 5.0
    for weighting in ("loss", "sampler"):
        model = fitted("siamese-lstm", cue_pairs(40), weights=weights, weighting=weighting, epochs=2)
        assert np.isfinite(model.predict_proba(cue_pairs(10, seed=1))).all()


def test_texts_of_no_words_and_of_unknown_words_are_read() -> None:
    odd = pair_instances(
        [("train", "", "", "yes"), ("train", "?!", "zebra quokka", "no"), ("train", "red", "", "yes")] * 8
    )
    for name in NAMES:
        model = fitted(name, odd, epochs=1)
        found = model.predict_proba(pair_instances([("test", "", "", "yes"), ("test", "unseen", "", "no")]))
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found.sum(axis=1), 1)


def test_padding_changes_no_prediction() -> None:
    short = pair_instances([("test", "red dog", "cat", "yes"), ("test", "", "blue house tree", "no")])
    long = pair_instances([("test", "red dog", "cat", "yes"), ("test", "big " * 40, "small " * 30, "no")])
    for name in NAMES:
        model = fitted(name, cue_pairs(64), epochs=1)
        np.testing.assert_allclose(model.predict_proba(short)[0], model.predict_proba(long)[0], rtol=1e-5)


def test_a_label_unseen_in_training_is_never_right_and_stops_nothing() -> None:
    data = cue_pairs(120)
    rows = [("test", "red", "nobody", "yes"), ("test", "red", "dog", "no"), ("test", "red", "dog", "maybe")]
    unseen = pair_instances(rows * 10)
    model = fitted("bilstm", data, validation=unseen)
    assert model.predict_proba(unseen).shape == (30, 2)
    assert score(model, unseen) == pytest.approx(2 / 3)
    assert max(epoch.validation_accuracy for epoch in model.history_) == pytest.approx(2 / 3)


def test_dynamics_have_a_figure_for_every_example_and_epoch() -> None:
    data = cue_choices(60)
    model = fitted("bilstm", data, dynamics=True, epochs=3, patience=3)
    dynamics = model.dynamics_
    assert dynamics.probability.shape == dynamics.correct.shape == (3, 60)
    assert dynamics.held_out.sum() == 6
    assert ((dynamics.confidence > 0) & (dynamics.confidence < 1)).all()
    assert (dynamics.variability > 0).any()
    assert set(np.round(dynamics.correctness * 3)) <= {0, 1, 2, 3}
    assert fitted("bilstm", data, epochs=1).dynamics_ is None


def test_the_last_dynamics_are_the_predictions_of_the_last_epoch() -> None:
    data = cue_pairs(80)
    model = fitted("siamese-lstm", data, dynamics=True, held_out=0, epochs=2)
    found = model.predict_proba(data)[np.arange(80), data.label_codes]
    np.testing.assert_allclose(model.dynamics_.probability[-1], found, rtol=1e-6)


def test_early_stopping_keeps_the_best_epoch() -> None:
    data = cue_pairs(200)
    backwards = cue_pairs(60, seed=1).with_columns(label=pl.col("label").reverse())
    model = fitted("bilstm", data, validation=backwards, epochs=20, patience=2, decay=0.5)
    assert len(model.history_) < 20
    best = max(model.history_, key=lambda epoch: (epoch.validation_accuracy, -epoch.validation_loss))
    assert len(model.history_) == best.number + 2
    assert score(model, backwards) == pytest.approx(best.validation_accuracy)
    assert model.history_[-1].learning_rate < model.history_[0].learning_rate


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (cue_pairs(0), "no labelled rows"),
        (pair_instances([("train", "a", "b", "yes")] * 3), "Every training example has the label 'yes'"),
    ],
)
def test_nothing_to_learn_is_said_in_one_sentence(data: Instances, said: str) -> None:
    with pytest.raises(InputError, match=said):
        fitted("bilstm", data)


@pytest.mark.parametrize(
    ("weights", "said"),
    [([1.0], "1 weights for 8 rows"), ([-1.0] * 8, "at least 0"), ([0.0] * 8, "All weights are 0")],
)
def test_weights_that_cannot_be_are_refused(weights: list[float], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        fitted("esim", cue_pairs(8), weights=weights)


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"held_out": 1.0}, {"weighting": "both"}, {"dropout": 1.0}, {"learning_rate": 0.0}],
)
def test_parameters_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        MODELS.get("bilstm")(**wrong)


def test_a_model_does_not_read_data_of_another_task_or_before_it_is_fitted() -> None:
    with pytest.raises(UsageError, match="not fitted"):
        MODELS.get("esim")().predict_proba(cue_pairs(4))
    model = fitted("esim", cue_pairs(16), epochs=1)
    with pytest.raises(UsageError, match="fitted on pair data and cannot read choice data"):
        model.predict_proba(cue_choices(3))


def test_pickled_weights_are_refused_with_the_line_that_converts_them(tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    data = cue_pairs(32)
    model = fitted("bilstm", data, epochs=1)
    model.save(tmp_path)
    torch.save(load_file(tmp_path / "model.safetensors"), tmp_path / "weights.pt")
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"weights\.pt but no model\.safetensors") as refused:
        load_model(tmp_path)
    line = str(refused.value).split('python -c "')[1].rstrip('"')
    subprocess.run([sys.executable, "-c", line], cwd=tmp_path, check=True)
    assert (load_model(tmp_path).predict_proba(data) == model.predict_proba(data)).all()


def test_a_folder_without_a_model_or_with_a_damaged_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no saved model"):
        load_model(tmp_path)
    fitted("bilstm", cue_pairs(32), epochs=1).save(tmp_path)
    description = json.loads((tmp_path / "model.json").read_text())
    for change, said in [({"model": "bislstm"}, "Did you mean 'bilstm'"), ({"labels": ["a"]}, "damaged")]:
        (tmp_path / "model.json").write_text(json.dumps(description | change))
        with pytest.raises((InputError, UsageError), match=said):
            load_model(tmp_path)


def test_listing_models_imports_no_torch() -> None:
    line = "import sys, cuecard.models as m; assert 'bilstm' in m.MODELS.names(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", line], check=False).returncode == 0
