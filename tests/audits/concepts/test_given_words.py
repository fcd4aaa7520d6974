"""What a concept adds to words and length, and the words that name it, beside independent computations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

from cuecard.audits.concepts.naming import log_odds_z
from cuecard.audits.concepts.testing import WordsOfHalf, given_words
from cuecard.stats.arrays import Floats
from cuecard.stats.sparse_dictionary import sparse_dictionary
from small_sets import pair_instances


def _score_z(hits: Floats, properties: Floats, feature: Floats) -> float:
    """Return z of the score test of a feature in a logistic regression, by scipy's optimiser and plain algebra."""
    design = np.column_stack([np.ones(len(hits)), properties])

    def loss(beta: Floats) -> float:
        margin = design @ beta
        return float(np.logaddexp(0, margin).sum() - hits @ margin + 0.005 * beta @ beta)

    beta = optimize.minimize(loss, np.zeros(design.shape[1]), method="BFGS", tol=1e-10).x
    p = 1 / (1 + np.exp(-design @ beta))
    weight = p * (1 - p)
    full = np.column_stack([design, feature])
    information = full.T @ (full * weight[:, None])
    inner = information[-1, -1] - information[-1, :-1] @ np.linalg.solve(
        information[:-1, :-1], information[:-1, -1]
    )
    residual = feature - design @ np.linalg.solve(information[:-1, :-1], information[:-1, -1])
    robust = ((residual * (hits - p)) ** 2).sum()
    return float(feature @ (hits - p) / np.sqrt(max(inner, robust)))


def test_the_test_given_words_is_a_score_test() -> None:
    rng = np.random.default_rng(0)
    n = 400
    word = rng.integers(0, 2, n)
    having = rng.random((n, 2)) < np.where(word == 1, 0.6, 0.2)[:, None]
    yes = rng.random(n) < 0.3 + 0.3 * word + 0.15 * having[:, 0]
    data = pair_instances([("train", "p", f"text {i}", "yes" if one else "no") for i, one in enumerate(yes)])
    lengths = rng.integers(3, 20, n)
    margins = np.column_stack([np.zeros(n), rng.normal(size=n)])
    words = WordsOfHalf(margins, sparse.csr_matrix(word[:, None].astype(np.float64)))
    labels = np.array([1, 1])
    z, log_p = given_words(data, having, labels, words, lengths, np.arange(n))
    logs = np.log1p(lengths.astype(float))
    properties = np.column_stack([logs, logs**2, word])
    for i in range(2):
        assert z[i] == pytest.approx(
            _score_z(yes.astype(float), properties, having[:, i].astype(float)), abs=0.02
        )
    assert log_p[0] < log_p[1]


def test_copies_do_not_add_to_the_test() -> None:
    rng = np.random.default_rng(1)
    n = 150
    having = rng.random((n, 1)) < 0.4
    yes = rng.random(n) < 0.35 + 0.35 * having[:, 0]
    lengths = rng.integers(3, 20, n)
    z = []
    for copies in (1, 4):
        rows = np.tile(np.arange(n), copies)
        data = pair_instances([("train", "p", f"text {i}", "yes" if yes[i] else "no") for i in rows])
        words = WordsOfHalf(np.zeros((len(rows), 2)), sparse.csr_matrix((len(rows), 0)))
        z.append(given_words(data, having[rows], np.array([1]), words, lengths[rows], rows)[0][0])
    assert z[0] > 2
    assert z[1] == pytest.approx(z[0], rel=0.15)


def test_level_of_the_test_given_words() -> None:
    """The label follows the word; concepts that go with the word, and not with the label given it, are noise."""
    rng = np.random.default_rng(2)
    n, m = 500, 300
    word = rng.integers(0, 2, n)
    yes = rng.random(n) < np.where(word == 1, 0.7, 0.3)
    having = rng.random((n, m)) < np.where(word == 1, 0.4, 0.15)[:, None]
    data = pair_instances([("train", "p", f"text {i}", "yes" if one else "no") for i, one in enumerate(yes)])
    words = WordsOfHalf(np.zeros((n, 2)), sparse.csr_matrix(word[:, None].astype(np.float64)))
    _, log_p = given_words(data, having, np.ones(m, dtype=np.int64), words, np.full(n, 7), np.arange(n))
    assert 0.01 <= (log_p <= np.log(0.05)).mean() <= 0.09


def test_log_odds_by_hand() -> None:
    """One word of two, by the formula of Monroe, Colaresi & Quinn (2008), written out."""
    inside, outside = np.array([30.0, 10.0]), np.array([20.0, 40.0])
    prior = 50 * np.array([50.0, 50.0]) / 100
    first = np.log((30 + prior[0]) / (40 + 50 - 30 - prior[0]))
    second = np.log((20 + prior[0]) / (60 + 50 - 20 - prior[0]))
    spread = np.sqrt(1 / (30 + prior[0]) + 1 / (20 + prior[0]))
    assert log_odds_z(inside, outside)[0] == pytest.approx((first - second) / spread)


def test_a_dictionary_finds_the_directions_that_vectors_are_made_of() -> None:
    rng = np.random.default_rng(3)
    true = np.linalg.qr(rng.normal(size=(32, 8)))[0].T
    codes = np.zeros((1_500, 8))
    for row in codes:
        row[rng.choice(8, 2, replace=False)] = rng.uniform(0.5, 1.5, 2)
    vectors = (codes @ true + 0.02 * rng.normal(size=(1_500, 32))).astype(np.float32)
    found = sparse_dictionary(vectors, 16, 2, seed=0)
    again = sparse_dictionary(vectors, 16, 2, seed=0)
    assert np.array_equal(found.encoder, again.encoder)
    activations = found.activations(vectors)
    for i in range(8):
        correlations = [np.corrcoef(codes[:, i], np.maximum(column, 0))[0, 1] for column in activations.T]
        assert max(np.nan_to_num(correlations)) > 0.6
    assert found.usage.sum() == pytest.approx(2, abs=0.5)
