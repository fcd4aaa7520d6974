"""Codes of units, in parts of bounded size."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cuecard.stats.units.codes import distinct_codes, exact_sum, first_of_code, rows_of_copies
from cuecard.stats.units.effective import copy_correlation, label_cells


@pytest.fixture
def codes() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 300, 400)


def test_rows_of_copies_are_all_rows_whose_code_occurs_twice(codes, monkeypatch):
    monkeypatch.setattr("cuecard.stats.units.codes.AT_A_TIME", 30)
    parts = list(rows_of_copies(codes))
    assert len(parts) > 5
    assert all(len(rows) < 45 for rows in parts)
    assert not set.intersection(set(codes[parts[0]]), *(set(codes[rows]) for rows in parts[1:]))
    copied = np.flatnonzero(
        np.unique(codes, return_counts=True)[1][np.unique(codes, return_inverse=True)[1]] > 1
    )
    assert np.array_equal(np.sort(np.concatenate(parts)), copied)
    assert list(rows_of_copies(np.arange(10))) == []


def test_first_rows_and_numbers_of_codes_are_those_of_numpy(codes):
    _, first = np.unique(codes, return_index=True)
    assert np.array_equal(np.flatnonzero(first_of_code(codes)), np.sort(first))
    assert distinct_codes(codes) == len(first)
    assert not len(first_of_code(codes[:0]))


def test_the_correlation_of_copies_is_the_same_in_parts(codes, monkeypatch):
    labels = np.random.default_rng(1).integers(0, 3, len(codes))
    whole = copy_correlation(codes, labels, [0.3, 0.3, 0.4])
    monkeypatch.setattr("cuecard.stats.units.codes.AT_A_TIME", 25)
    assert copy_correlation(codes, labels, [0.3, 0.3, 0.4]) == whole > 0


def test_cells_of_many_labels_are_those_of_few(codes):
    labels = np.random.default_rng(1).integers(0, 3, len(codes))
    few, many = label_cells(codes, labels, 3), label_cells(codes, labels, 5_000)
    assert all(np.array_equal(a, b) for a, b in zip(few, many, strict=True))
    assert few[2].sum() == len(codes)


def test_a_sum_is_rounded_once():
    values = np.random.default_rng(0).normal(size=200_000) * 10.0 ** np.random.default_rng(1).integers(
        -9, 9, 200_000
    )
    assert exact_sum(np.array_split(values, 7)) == math.fsum(values.tolist()) == exact_sum([values[::-1]])
