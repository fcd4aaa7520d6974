"""Both models of word n-grams: what they learn, what they cannot see, what they remember."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from told_sets import as_preference, as_texts, told_by_both, told_by_word, told_choices

from cuecard.errors import InputError, UsageError
from cuecard.models import MODELS, load_model
from cuecard.models.examples import accuracy, examples_of, gold_probabilities
from small_sets import pair_instances

NAMES = ["linear", "fasttext"]


def fitted(
    name: str, data: Any, *, condition: Any = "full", fit: dict[str, Any] | None = None, **parameters: Any
) -> Any:
    return MODELS.get(name)(**parameters).fit(data, condition=condition, **(fit or {}))


def score(model: Any, data: Any) -> float:
    return accuracy(model.predict_proba(data), examples_of(data, model.labels_))


@pytest.mark.parametrize("name", NAMES)
def test_a_word_that_tells_the_label_is_learned_and_survives_saving(name: str, tmp_path: Path) -> None:
    model = fitted(name, told_by_word())
    unseen = told_by_word(99, seed=1)
    chances = model.predict_proba(unseen)
    assert chances.shape == (99, 3)
    assert score(model, unseen) == 1
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.predict_proba(unseen), chances)
    np.testing.assert_array_equal(again.embed(unseen), model.embed(unseen))
    assert len(model.embed(unseen)) == 99


@pytest.mark.parametrize("name", NAMES)
def test_a_hidden_text_is_not_read(name: str) -> None:
    told_in_premise = told_by_word(where="premise")
    assert score(fitted(name, told_in_premise, condition="premise"), told_in_premise) == 1
    blind = fitted(name, told_in_premise, condition="hypothesis")
    assert score(blind, told_by_word(300, seed=1, where="premise")) < 0.45
    swapped = told_in_premise.with_columns(premise=told_in_premise.table["premise"].reverse())
    np.testing.assert_array_equal(blind.predict_proba(swapped), blind.predict_proba(told_in_premise))


@pytest.mark.parametrize("name", NAMES)
def test_what_only_both_texts_tell_is_learned_from_the_full_input_alone(name: str) -> None:
    train, unseen = told_by_both(), told_by_both(300, seed=1)
    assert score(fitted(name, train), unseen) > 0.95
    assert score(fitted(name, train, condition="hypothesis"), unseen) < 0.6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("task", ["choice", "preference"])
@pytest.mark.parametrize("condition", ["full", "choices"])
def test_the_rows_of_an_example_compete(name: str, task: str, condition: str) -> None:
    train, unseen = told_choices(), told_choices(90, seed=1)
    if task == "preference":
        train, unseen = as_preference(train), as_preference(unseen)
    model = fitted(name, train, condition=condition)
    chances = model.predict_proba(unseen)
    assert chances.shape == (len(unseen),)
    np.testing.assert_allclose(np.bincount(unseen.example_codes, chances), 1)
    assert score(model, unseen) == 1
    assert len(model.embed(unseen)) == len(unseen)


@pytest.mark.parametrize("name", NAMES)
def test_single_texts_are_learned(name: str) -> None:
    assert score(fitted(name, as_texts(told_by_word())), as_texts(told_by_word(90, seed=1))) == 1


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("linear", {}), ("fasttext", {"weighting": "loss"}), ("fasttext", {"weighting": "sampler"})],
)
def test_rows_of_weight_0_teach_nothing(name: str, parameters: dict[str, Any]) -> None:
    """Half of the rows say the opposite; with weight 0 they must not be heard."""
    told = told_by_word(300)
    opposite = {"neutral": "entailment", "entailment": "contradiction", "contradiction": "neutral"}
    rows = [("train", p, h, y) for p, h, y in told.table.select("premise", "hypothesis", "label").iter_rows()]
    rows += [("train", p, h, opposite[y]) for _, p, h, y in rows]
    weights = np.repeat([1.0, 0.0], 300)
    assert score(fitted(name, pair_instances(rows), fit={"weights": weights}, **parameters), told) == 1
    assert score(fitted(name, pair_instances(rows), fit={"weights": 1 - weights}, **parameters), told) == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_row_is_judged_alike_in_any_company(name: str) -> None:
    """Words unseen in training shift the vocabulary of what is read, and must change nothing else."""
    model = fitted(name, told_by_word())
    rows = [
        ("test", "zebra quagga zebra", "okapi never", "neutral"),
        ("test", "the dog runs", "the cat never", "neutral"),
    ]
    together = model.predict_proba(pair_instances(rows))
    alone = model.predict_proba(pair_instances(rows[1:]))
    np.testing.assert_allclose(together[1], alone[0], rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_texts_without_known_words_get_an_answer(name: str) -> None:
    chances = fitted(name, told_by_word()).predict_proba(
        pair_instances([("test", "", "", "neutral"), ("test", "… !", "okapi", "neutral")])
    )
    assert np.isfinite(chances).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_label_unseen_in_training_is_never_given(name: str) -> None:
    data = told_by_word()
    known = [row for row in data.table.iter_rows(named=True) if row["label"] != "neutral"]
    train = pair_instances([("train", r["premise"], r["hypothesis"], r["label"]) for r in known])
    model = fitted(name, train)
    assert model.labels_ == ("contradiction", "entailment")
    assert model.predict_proba(data).shape == (300, 2)
    assert score(model, data) == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", NAMES)
def test_dynamics_tell_the_epochs_apart(name: str) -> None:
    steps = []
    model = fitted(name, told_by_word(), fit={"dynamics": True, "watch": steps.append})
    recorded = model.dynamics_
    assert recorded.probability.shape == recorded.correct.shape
    assert recorded.probability.shape[1] == 300
    assert not np.array_equal(recorded.probability[-1], recorded.probability[0])
    if name == "linear":  # ends with what was recorded last; fasttext may go back to a better epoch
        gold = gold_probabilities(
            model.predict_proba(told_by_word()), examples_of(told_by_word(), model.labels_)
        )
        np.testing.assert_allclose(recorded.probability[-1], gold, rtol=1e-6)
    assert ((recorded.confidence > 0) & (recorded.confidence <= 1)).all()
    assert steps[-1].epoch == len(recorded.probability)
    assert [step.done for step in steps] == sorted(step.done for step in steps)


@pytest.mark.parametrize("name", NAMES)
def test_what_does_not_fit_together_is_said(name: str, tmp_path: Path) -> None:
    model = MODELS.get(name)()
    with pytest.raises(UsageError, match="not fitted"):
        model.predict_proba(told_by_word())
    with pytest.raises(UsageError, match="not fitted"):
        model.save(tmp_path)
    model.fit(told_by_word())
    with pytest.raises(UsageError, match="fitted on pair data and cannot read choice data"):
        model.predict_proba(told_choices(6))
    with pytest.raises(UsageError, match="condition 'choices' does not apply"):
        model.fit(told_by_word(), condition="choices")
    with pytest.raises(InputError, match="no saved model"):
        type(model).load(tmp_path / "nowhere")
    model.save(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 100)
    with pytest.raises(InputError, match="not a safetensors file"):
        load_model(tmp_path)
