"""Averaged n-gram vectors: exact gradients, early stopping, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.special import softmax
from told_sets import told_by_both, told_by_word, told_choices

from cuecard.errors import UsageError
from cuecard.models import FastText
from cuecard.models.examples import Epoch, accuracy, examples_of, training_examples
from cuecard.models.linear.learner import softmax_within
from cuecard.models.ngram_models.descent import Bags, Descent, DescentSettings, loop_arrays
from cuecard.models.text_model import Objective
from cuecard.stats import _native


def numeric_gradient(loss: Any, array: Any, step: float = 1e-5) -> Any:
    gradient = np.zeros(array.shape)
    for place in np.ndindex(array.shape):
        kept = array[place]
        array[place] = kept + step
        above = loss()
        array[place] = kept - step
        gradient[place] = (above - loss()) / (2 * step)
        array[place] = kept
    return gradient


def problem(outputs: int) -> Any:
    generator = np.random.default_rng(0)
    features = sparse.csr_matrix(generator.random((5, 7)) * (generator.random((5, 7)) < 0.6))
    return (
        features,
        generator.normal(size=(7, 4)),
        generator.normal(size=(outputs, 4)),
        generator.normal(size=outputs),
    )


#: What a loop takes for an objective without groups and without a learned mixture.
NO_GROUPS = (np.empty(0, np.int64), np.empty(0, np.float32), 0.0)


@pytest.mark.parametrize("objective", ["labels", "expert", "targets"])
def test_a_step_on_labels_goes_down_the_exact_gradient(objective: str) -> None:
    features, vectors, output, bias = problem(3)
    gold, weight, rate = np.array([0, 2, 1, 1, 0]), np.array([1, 1, 1, 2.5, 1], np.float32), 0.01
    generator, nothing = np.random.default_rng(1), np.empty((0, 3), np.float32)
    offset, target = np.zeros((5, 3)), np.eye(3)[gold]
    if objective == "expert":
        offset = np.log(generator.dirichlet(np.ones(3), 5))
    if objective == "targets":
        target = generator.dirichlet(np.ones(3), 5)

    def loss() -> float:
        margins = (features[[3]] @ vectors) @ output.T + bias + offset[3]
        return float(-2.5 * (target[3] * np.log(softmax(margins, axis=1)[0])).sum())

    expected = [array - rate * numeric_gradient(loss, array) for array in (vectors, output, bias)]
    stepped = [array.astype(np.float32) for array in (vectors, output, bias)]
    extra = [
        offset.astype(np.float32) if objective == "expert" else nothing,
        target.astype(np.float32) if objective == "targets" else nothing,
    ]
    found = _native.learn_labels(
        *loop_arrays(features), gold, weight, np.array([3]), rate, 0.0, *stepped, *extra, *NO_GROUPS
    )
    assert found == pytest.approx(loss(), rel=1e-5)
    for one, other in zip(stepped, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_step_on_choices_goes_down_the_exact_gradient() -> None:
    features, vectors, output, _ = problem(1)
    starts, gold, weight, rate = np.array([0, 2, 5]), np.array([0, 2]), np.array([1, 2.5], np.float32), 0.01

    def loss() -> float:
        margins = ((features @ vectors) @ output.T)[2:, 0]
        return float(-2.5 * np.log(softmax_within(margins, np.array([0, 3]))[2]))

    expected = [array - rate * numeric_gradient(loss, array) for array in (vectors, output)]
    stepped = [array.astype(np.float32) for array in (vectors, output)]
    plain = [np.empty((0, 3), np.float32)] * 2
    found = _native.learn_choices(
        *loop_arrays(features), starts, gold, weight, np.array([1]), rate, 0.0, *stepped, *plain, *NO_GROUPS
    )
    assert found == pytest.approx(loss(), rel=1e-5)
    for one, other in zip(stepped, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_same_seed_gives_the_same_model_and_another_one_does_not() -> None:
    data = told_by_word()
    first, second = (FastText(epochs=2).fit(data).predict_proba(data) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, FastText(epochs=2, seed=1).fit(data).predict_proba(data))


def test_training_stops_when_validation_gets_no_better_and_keeps_the_best_epoch() -> None:
    train, unrelated = told_by_both(), told_by_both(200, seed=3)
    # Labels that contradict what is learned: the longer it trains, the worse it does.
    flipped = unrelated.with_columns(label=unrelated.table["label"].reverse())
    model = FastText(epochs=30, patience=2).fit(train, validation=flipped)
    scores = [(-epoch.validation_accuracy, epoch.validation_loss) for epoch in model.history_]
    assert len(scores) < 30
    best = scores.index(min(scores))
    assert len(scores) == best + 3
    kept = FastText(epochs=30, patience=30).fit(train, validation=flipped)
    np.testing.assert_array_equal(
        [epoch.validation_loss for epoch in kept.history_][: len(scores)], [loss for _, loss in scores]
    )


@pytest.mark.parametrize("grouped", [False, True])
def test_a_killed_run_goes_on_to_the_same_model(tmp_path: Path, grouped: bool) -> None:
    data = told_choices() if grouped else told_by_both()
    whole = FastText(epochs=6).fit(data, dynamics=True)

    class Killed(Exception):
        pass

    def kill(step: Any) -> None:
        if step.epoch == 4:
            raise Killed

    with pytest.raises(Killed):
        FastText(epochs=6).fit(data, dynamics=True, checkpoint=tmp_path, watch=kill)
    assert len(list(tmp_path.glob("state-3.safetensors"))) == 1
    seen = []
    resumed = FastText(epochs=6).fit(data, dynamics=True, checkpoint=tmp_path, watch=seen.append)
    assert seen[0].epoch == 4
    np.testing.assert_array_equal(resumed.predict_proba(data), whole.predict_proba(data))
    np.testing.assert_array_equal(resumed.dynamics_.probability, whole.dynamics_.probability)


@pytest.mark.parametrize("weighting", ["loss", "sampler"])
def test_a_set_in_which_one_example_counts_is_trained_on(weighting: Any) -> None:
    data = told_by_word(60)
    for row in (0, 7):
        model = FastText(weighting=weighting, epochs=2).fit(data, weights=np.eye(60)[row])
        assert np.isfinite(model.predict_proba(data)).all()


def test_heavy_weights_of_the_loss_do_as_well_as_the_sampler() -> None:
    told, fresh, draw = told_by_word(3000), told_by_word(600, seed=1), np.random.default_rng(0)
    noisy = [
        str(draw.choice(told.labels)) if draw.random() < 0.4 else label
        for label in told.table["label"].to_list()
    ]
    data = told.with_columns(label=pl.Series(noisy).cast(told.table["label"].dtype))
    weights = draw.lognormal(0, 2.5, 3000)
    assert weights.max() > 100 * weights.mean()

    def right(weighting: Any) -> float:
        model = FastText(weighting=weighting, epochs=8, held_out=0).fit(data, weights=weights)
        return accuracy(model.predict_proba(fresh), examples_of(fresh, model.labels_))

    assert right("loss") > max(right("sampler") - 0.02, 0.75)


def settings(sampled: bool) -> DescentSettings:
    return DescentSettings(
        outputs=3, dimensions=2, epochs=1, learning_rate=0.1, patience=1, sampled=sampled, seed=0
    )


def test_no_step_counts_more_than_four_times_the_mean_and_all_steps_count_the_weight() -> None:
    data = told_by_word(300)
    weights = np.where(np.arange(300) == 7, 900.0, 1.0)
    weights[:5] = 0
    run = Descent(
        Bags(sparse.csr_matrix((300, 2)), training_examples(data, weights)),
        np.arange(300),
        settings(sampled=False),
    )
    assert run._factors.max() <= 4
    counted = np.bincount(run._order(), weights=run._factors[run._order()], minlength=300)
    np.testing.assert_allclose(counted, weights / weights.mean(), rtol=1e-6)


@pytest.mark.parametrize("sampled", [False, True])
def test_groups_are_as_frequent_as_each_other_and_heavy_examples_keep_their_weight(sampled: bool) -> None:
    groups = np.repeat([0, 1, 2], [200, 90, 10])
    weights = np.where(np.arange(300) == 7, 100.0, 1.0)
    weights[groups == 2] = 0  # a group that has no weight is not drawn
    run = Descent(
        Bags(sparse.csr_matrix((300, 2)), training_examples(told_by_word(300), weights)),
        np.arange(300),
        settings(sampled),
        Objective("group-robust", groups=groups),
    )
    drawn = []
    for _ in range(60):
        drawn.append(run._order())
        run.history.append(Epoch(len(run.history) + 1, 0.0, 0.0))
    order = np.concatenate(drawn)
    assert np.bincount(groups[order], minlength=3) / len(order) == pytest.approx([0.5, 0.5, 0], abs=0.02)
    counted = np.bincount(order, weights=run._factors[order])
    assert counted[7] / counted[groups[: len(counted)] == 0].sum() == pytest.approx(100 / 299, abs=0.02)


def test_the_state_of_another_run_is_refused(tmp_path: Path) -> None:
    FastText(epochs=1).fit(told_by_word(), checkpoint=tmp_path)
    with pytest.raises(UsageError, match="to another run \\(epochs was 1, now 2\\)"):
        FastText(epochs=2).fit(told_by_word(), checkpoint=tmp_path)


def test_a_learning_rate_that_explodes_is_said() -> None:
    with pytest.raises(UsageError, match="try a smaller learning_rate than 1e\\+18"):
        FastText(learning_rate=1e18).fit(told_by_word())


@pytest.mark.parametrize(
    "parameters",
    [{"epochs": 0}, {"learning_rate": 0.0}, {"held_out": 1.0}, {"weighting": "both"}, {"dimensions": -1}],
)
def test_parameters_that_mean_nothing_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(parameters))):
        FastText(**parameters)
