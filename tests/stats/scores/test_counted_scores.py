"""Tests and areas of counted examples are those of the examples themselves."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from scipy.stats import hypergeom

from cuecard.stats.scores.auc import (
    choice_auc,
    choice_auc_in_parts,
    counted_label_auc,
    counted_score_tests,
    label_auc,
)
from cuecard.stats.scores.score_test import (
    DRAWS,
    choice_score_test,
    choice_score_test_in_parts,
    counted_tails,
    score_test,
)


def counted_examples(seed, n=20_000, points=15, labels=3):
    """Examples in four strata, the last of which is not scored: probabilities, counts, cells, strata and labels."""
    rng = np.random.default_rng(seed)
    strata, point = rng.integers(0, 4, n), rng.integers(0, points, n)
    gold = (point + rng.integers(0, 2, n)) % labels
    probabilities = rng.dirichlet(np.ones(labels), size=(4, points)).round(1)
    probabilities[:, 3] = probabilities[:, 4]
    probabilities[3] = np.nan
    shape = (4, points, labels)
    cell = np.ravel_multi_index((strata, point, gold), shape)
    counts = np.bincount(cell, minlength=np.prod(shape)).reshape(shape)
    return probabilities, counts, cell.astype(np.int32), strata, gold, point


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_units", [True, False])
def test_the_score_test_of_counted_examples_is_that_of_examples(seed, with_units):
    probabilities, counts, cell, strata, gold, point = counted_examples(seed)
    units = np.random.default_rng(seed).integers(0, 15_000, len(cell)) if with_units else None
    (ours,) = counted_score_tests(probabilities, counts, cell, [units])
    rows = strata < 3
    theirs = score_test(
        probabilities[strata, point][rows],
        gold[rows],
        strata=strata[rows],
        units=None if units is None else units[rows],
    )
    assert ours.method == theirs.method == ("units" if with_units else "moments")
    assert astuple(ours) == astuple(theirs)  # to the last digit


def few_of_many(n, marked, right):
    """n examples of two labels, `marked` of them at a point of their own, `right` of these labelled 1."""
    probabilities = np.array([[[0.5, 0.5], [0.01, 0.99]]])
    half = (n - marked) // 2
    counts = np.array([[[half, n - marked - half], [marked - right, right]]])
    return probabilities, counts, np.repeat(np.arange(4), counts.ravel())


@pytest.mark.parametrize(("n", "marked"), [(60, 4), (200_000, 6)])
def test_where_few_examples_carry_the_variance_the_tail_is_the_hypergeometric_one(n, marked):
    """Permuted in the first case, drawn as a table in the second, which permutations would take minutes for."""
    probabilities, counts, cell = few_of_many(n, marked, right=marked - 1)
    (ours,) = counted_score_tests(probabilities, counts, cell, [None])
    assert ours.method == "monte carlo"
    labelled = int(counts[..., 1].sum())
    above = hypergeom(n, labelled, marked).sf(marked - 2)
    assert np.exp(ours.log_above) == pytest.approx(above, abs=4 * (above * (1 - above) / DRAWS) ** 0.5)
    assert counted_score_tests(probabilities, counts, cell, [None]) == [ours], "the same draws again"


def test_tables_of_several_points_labels_and_strata_are_drawn_as_labels_are_permuted(monkeypatch):
    rng = np.random.default_rng(1)
    strata = [(rng.normal(size=(4, 3)), rng.integers(0, 4, (4, 3))) for _ in range(2)]
    seen = sum(float((gain * counts).sum()) for gain, counts in strata)
    tails = {}
    for cost in (0, 1e9):
        monkeypatch.setattr("cuecard.stats.scores.score_test.TABLE_COST", cost)
        tails[cost] = np.exp(counted_tails(strata, seen, seed=0))
    assert 0.05 < tails[0][0] < 0.95
    assert tails[0] != pytest.approx(tails[1e9], abs=1e-9), "drawn in different ways"
    assert tails[0] == pytest.approx(tails[1e9], abs=5 * (2 * 0.25 / DRAWS) ** 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_the_area_of_counted_examples_is_that_of_examples(seed):
    probabilities, counts, cell, strata, gold, point = counted_examples(seed)
    units = np.random.default_rng(seed).integers(0, 15_000, len(cell))
    ours = counted_label_auc(probabilities, counts, cell, units, inflation=2.25)
    rows = strata < 3
    theirs = label_auc(
        probabilities[strata, point][rows],
        gold[rows],
        strata=strata[rows],
        units=units[rows],
        inflation=2.25,
    )
    assert ours.value == theirs.value
    assert astuple(ours) == pytest.approx(astuple(theirs), rel=1e-12)


def test_nothing_that_is_scored_is_tested_or_ranked():
    probabilities, counts, cell, *_ = counted_examples(0)
    nothing = np.full_like(probabilities, np.nan)
    assert [one.method for one in counted_score_tests(nothing, counts, cell, [None, cell])] == [
        "constant"
    ] * 2
    assert np.isnan(counted_label_auc(nothing, counts, cell, cell).value)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("n", [40, 5])  # with few examples, choices are drawn
def test_choices_in_parts_have_the_test_and_the_area_of_all_of_them(weighted, n):
    rng = np.random.default_rng(n)
    sizes = rng.integers(2, 5, n)
    gold, values = rng.integers(0, sizes), rng.random(sizes.sum())
    more = {
        "weights": rng.random(n) + 0.5 if weighted else None,
        "units": None if n < 40 else np.arange(n) // 2,
    }

    def parts():
        for start in range(0, n, 3):
            own = slice(start, start + 3)
            before = sizes[:start].sum()
            yield values[before : before + sizes[own].sum()], gold[own], sizes[own]

    assert choice_score_test_in_parts(parts, **more) == choice_score_test(values, gold, sizes, **more)
    assert choice_auc_in_parts(parts(), **more) == choice_auc(values, gold, sizes, **more)


def test_no_choices_have_no_test_and_no_area():
    assert choice_score_test_in_parts(list).method == "constant"
    assert np.isnan(choice_auc_in_parts([]).value)
