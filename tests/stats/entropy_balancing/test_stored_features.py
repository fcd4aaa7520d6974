"""Features that stay in files give the sums and the weights of those in memory, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cuecard.stats.entropy_balancing import (
    LabelledFeatures,
    StoredFeatures,
    entropy_balance,
)

LABELS = 3


def matrix_and_labels(n: int = 400, features: int = 12, *, binary: bool = True, seed: int = 0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, LABELS, n)
    share = 0.1 + 0.2 * (rng.integers(0, LABELS, features)[None, :] == labels[:, None])
    matrix = (rng.random((n, features)) < share).astype(float)
    matrix[labels == 0, 0] = 0  # a feature that cannot be balanced
    if not binary:
        matrix *= rng.random((n, features)) + 0.5
    return sparse.csr_matrix(matrix), labels


def stored(matrix: sparse.csr_matrix, labels: np.ndarray) -> StoredFeatures:
    binary = bool((matrix.data == 1).all())
    codes = matrix.indices.astype(np.int64) * LABELS + np.repeat(labels, np.diff(matrix.indptr))
    values = None if binary else matrix.data
    return StoredFeatures(
        matrix.indptr.astype(np.int64), codes.astype(np.int32), values, labels, matrix.shape[1], LABELS
    )


@pytest.mark.parametrize("binary", [True, False])
def test_sums_are_those_of_features_in_memory(binary, monkeypatch):
    monkeypatch.setattr("cuecard.stats.entropy_balancing.constraints._ROWS", 70)
    monkeypatch.setattr("cuecard.stats.entropy_balancing.stored._ROWS", 50)
    matrix, labels = matrix_and_labels(binary=binary)
    rng = np.random.default_rng(1)
    in_memory, on_disk = LabelledFeatures(matrix, labels, LABELS), stored(matrix, labels)
    some, rows = np.array([1, 4, 7]), np.sort(rng.permutation(len(labels))[:150])
    pairs = [
        (in_memory, on_disk),
        (in_memory.only(some), on_disk.only(some)),
        (in_memory.with_constant(), on_disk.with_constant()),
        (in_memory.with_constant().only(np.array([2, 12])), on_disk.with_constant().only(np.array([2, 12]))),
        (LabelledFeatures(matrix[rows], labels[rows], LABELS), on_disk.some_rows(rows)),
    ]
    for one, other in pairs:
        mass, multipliers = rng.random(one.rows), rng.normal(size=(one.features, LABELS))
        assert one.totals(mass).tolist() == other.totals(mass).tolist()
        assert one.squared_totals(mass).tolist() == other.squared_totals(mass).tolist()
        assert one.scores(multipliers).tolist() == other.scores(multipliers).tolist()
        own = np.arange(one.features)
        assert (one.columns(own) != other.columns(own)).nnz == 0
        for a, b in zip(
            one.multipliers_of(np.arange(9), multipliers),
            other.multipliers_of(np.arange(9), multipliers),
            strict=True,
        ):
            assert a[0].tolist() == b[0].tolist()
            assert a[1].tolist() == b[1].tolist()


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ridge": 0.1},
        {"max_weight": 1.5},
        {"min_ess": 0.9},
        {"balance_labels": True},
        {"target": "overall"},
    ],
)
def test_weights_are_those_of_features_in_memory(binary, options):
    matrix, labels = matrix_and_labels(binary=binary)
    expected = entropy_balance(matrix, labels, **options)
    balanced = entropy_balance(stored(matrix, labels), labels, **options)
    assert balanced.weights.tolist() == expected.weights.tolist()
    assert balanced.residuals.tolist() == expected.residuals.tolist()
    assert [entry.reason for entry in balanced.unbalanced] == [e.reason for e in expected.unbalanced]


def test_features_that_contradict_each_other_are_treated_alike():
    labels = np.array([0, 0, 1, 1, 2, 2] * 20)
    columns = np.zeros((len(labels), 3))
    columns[:, 0] = np.arange(len(labels)) % 2
    columns[:, 1] = columns[:, 0] * (labels != 2)  # a part of the first that lacks a label, but for one row
    columns[5, 1] = 1
    columns[:, 2] = columns[:, 0] * (labels == 2)
    columns[[0, 2], 2] = 1
    matrix = sparse.csr_matrix(columns)
    expected = entropy_balance(matrix, labels)
    balanced = entropy_balance(stored(matrix, labels), labels)
    assert balanced.weights.tolist() == expected.weights.tolist()
    assert balanced.unbalanced
    assert [entry.reason for entry in balanced.unbalanced] == [e.reason for e in expected.unbalanced]
