"""Guesses that are made in one pass are those of every model by itself."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

from cuecard.audits.partial_input import folds
from cuecard.audits.partial_input.cross_fit import doubling, trainer
from cuecard.data import load
from cuecard.data.examples import Examples
from cuecard.models import LinearModel


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    for module in ("cross_fit", "folds"):
        monkeypatch.setattr(f"cuecard.audits.partial_input.{module}.AT_A_TIME", 13)
    assert folds.AT_A_TIME == 13


@pytest.fixture
def examples():
    texts = [f"text {i}" for i in range(200)]
    labels = np.random.default_rng(0).integers(0, 3, 200)
    return Examples(load(pl.DataFrame({"text": texts, "label": [f"l{i}" for i in labels]}), task="text"))


@pytest.fixture
def features():
    return sparse.random(200, 40, density=0.2, random_state=np.random.default_rng(1), format="csr")


def by_hand(examples, features, learn, guess):
    model = LinearModel(tolerance=1e-6, seed=5).fit(features[learn], examples.gold[learn])
    return model.predict_proba(features[guess])


def test_a_model_guesses_what_was_held_out(examples, features):
    learn, guess = np.arange(120), np.arange(120, 200)
    with trainer(examples, seed=5) as fit:
        done = fit.held_out(features, learn, guess)()
    expected = by_hand(examples, features, learn, guess)
    assert np.array_equal(done.guesses.table, expected)
    assert done.guesses.answer.tolist() == expected.argmax(axis=1).tolist()
    assert done.guesses.score.tolist() == (expected.argmax(axis=1) == examples.gold[guess]).tolist()
    assert done.inflation == 1.0
    assert done.tested is done.guesses


def test_every_fold_is_guessed_by_the_others_and_tested_by_those_before(examples, features):
    among = np.arange(5, 190)
    fold = np.random.default_rng(2).integers(0, 5, len(among)).astype(np.int16)
    with trainer(examples, seed=5) as fit:
        done = fit.cross_fit(features, among, fold)()
        once = fit.cross_fit(features, among, fold, forward=False)()
    for name in range(5):
        expected = by_hand(examples, features, among[fold != name], among[fold == name])
        assert np.array_equal(done.guesses.table[fold == name], expected)
    assert np.array_equal(once.guesses.table, done.guesses.table)
    parts = [among[fold == name] for name in range(5)]
    assert done.tested_examples.tolist() == np.concatenate(parts[1:]).tolist()
    assert np.array_equal(done.tested_fold, np.repeat(np.arange(1, 5), [len(part) for part in parts[1:]]))
    for first, last in doubling(4):
        here = (done.tested_fold >= first) & (done.tested_fold < last)
        expected = by_hand(examples, features, np.concatenate(parts[:first]), done.tested_examples[here])
        assert np.array_equal(done.tested.table[here], expected)
    assert np.array_equal(done.tested.table[done.tested_fold == 4], done.guesses.table[fold == 4])


def test_what_is_learned_from_is_drawn_by_the_seed(examples, features):
    learn, guess = np.arange(150), np.arange(150, 200)
    with trainer(examples, seed=5, max_train=60) as fit:
        done = fit.held_out(features, learn, guess)()
        fewer = fit.limited(20).held_out(features, learn, guess)()
    drawn = np.random.default_rng(5).permutation(150)
    for evaluation, n in ((done, 60), (fewer, 20)):
        expected = by_hand(examples, features, np.sort(drawn[:n]), guess)
        assert np.array_equal(evaluation.guesses.table, expected)
