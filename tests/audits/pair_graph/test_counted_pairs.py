"""Forests on counted pairs, and examples in parts, give what rows in memory give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.audits.pair_graph import cells as choices
from cuecard.audits.pair_graph.cells import Cells, ScoredChoices, counted_cells, standardised_points
from cuecard.audits.pair_graph.scores import standardised
from cuecard.data import Instances
from cuecard.data.space import MEMORY, Space
from cuecard.stats.counted_forest import Forest, Points, cross_fitted, distinct_points

FOREST = Forest(trees=10, depth=4, seed=3)
N = 600


def pairs(folds: int) -> tuple[Points, np.ndarray, np.ndarray]:
    """Features, the round that scores each pair, and labels that depend on the features."""
    rng = np.random.default_rng(folds)
    table = rng.poisson(1.5, size=(N, 3))
    number = rng.integers(0, 2 if folds == 1 else folds, N).astype(np.uint8)
    return distinct_points(table), number, (table[:, 0] + rng.integers(0, 2, N)) % 3


def cells_of(folds: int, space: Space = MEMORY) -> Cells:
    points, number, labels = pairs(folds)
    return counted_cells(points, number, folds, labels, 3, space=space, by_rows=False)


def from_rows(folds: int, fit: np.ndarray, score: np.ndarray, used: list[int]) -> np.ndarray:
    """What a forest on some rows says of others."""
    points, _, labels = pairs(folds)
    rows = standardised(points.rows[:, used])
    return cross_fitted(
        np.concatenate([rows[score], rows[fit]]),
        np.concatenate([np.zeros(score.sum(), dtype=np.int64), labels[fit]]),
        n_labels=3,
        folds=np.repeat([0, 1], [score.sum(), fit.sum()]),
        forest=FOREST,
    )[: score.sum()]


@pytest.mark.parametrize("folds", [1, 2, 5])
@pytest.mark.parametrize("used", [[0, 1, 2], [1], [0, 2]])
def test_counted_pairs_have_the_probabilities_of_forests_on_rows(folds: int, used: list[int]) -> None:
    cells, number = cells_of(folds), pairs(folds)[1]
    crossed = cells.of_pairs(cells.crossed(FOREST, used))
    for fold in range(folds):
        score = number == fold
        assert np.array_equal(crossed[score], from_rows(folds, ~score, score, used))
    assert np.isnan(crossed[number >= folds]).all()


def test_chained_forests_see_earlier_rounds_only() -> None:
    cells, number = cells_of(5), pairs(5)[1]
    crossed = cells.crossed(FOREST)
    chained = cells.of_pairs(cells.chained(FOREST, crossed))
    assert np.isnan(chained[number == 0]).all()
    assert np.array_equal(chained[number == 1], from_rows(5, number == 0, number == 1, [0, 1, 2]))
    both = (number == 2) | (number == 3)
    assert np.array_equal(chained[both], from_rows(5, number < 2, both, [0, 1, 2]))
    assert np.array_equal(chained[number == 4], cells.of_pairs(crossed)[number == 4])


@pytest.mark.parametrize("folds", [1, 2])
def test_chained_forests_of_one_or_two_rounds_are_the_crossed_ones(folds: int) -> None:
    cells = cells_of(folds)
    crossed = cells.crossed(FOREST)
    chained = cells.chained(FOREST, crossed)
    assert np.array_equal(chained[folds - 1], crossed[folds - 1], equal_nan=True)
    assert np.isnan(chained[: folds - 1]).all()


@pytest.mark.parametrize("folds", [1, 5])
def test_marks_are_those_of_the_most_likely_label_in_memory_and_on_disk(folds: int, tmp_path: Path) -> None:
    _, number, labels = pairs(folds)
    cells = cells_of(folds, Space(tmp_path))
    crossed = cells.crossed(FOREST)
    scored = number < folds
    expected = cells.of_pairs(crossed)[scored].argmax(axis=1) == labels[scored]
    assert np.array_equal(cells.marks(crossed, Space(tmp_path)), expected)
    assert np.array_equal(cells.marks(crossed, MEMORY), expected)


@pytest.mark.parametrize("by_rows", [True, False])
def test_points_are_standardised_to_the_last_digit_of_rows(by_rows: bool) -> None:
    table = np.random.default_rng(0).zipf(1.7, size=(20_001, 3)).clip(0, 10**6)
    points = distinct_points(table)
    counts = np.bincount(points.index)
    rows = standardised(np.array(table, order="C" if by_rows else "F"))
    assert np.array_equal(standardised_points(points, counts, by_rows=by_rows)[points.index], rows)


@pytest.mark.parametrize("at_a_time", [1, 7, 1000])
def test_choices_in_parts_are_those_of_all_examples(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 6, 50)
    starts = np.cumsum(sizes) - sizes
    gold = rng.integers(0, sizes)
    labels = np.full(sizes.sum(), "wrong", dtype=object)
    labels[starts + gold] = "right"
    table = pl.DataFrame(
        {
            "example_id": np.repeat([f"q{i}" for i in range(50)], sizes),
            "position": np.arange(sizes.sum()) - np.repeat(starts, sizes),
            "split": "train",
            "premise": "question",
            "hypothesis": "answer",
            "label": pl.Series(labels.tolist(), dtype=pl.Enum(["right", "wrong"])),
        }
    )
    right = rng.integers(0, 3, sizes.sum()) / 2
    unscored = np.repeat(np.arange(50) % 3 == 0, sizes)
    right[unscored] = np.nan
    monkeypatch.setattr(choices, "EXAMPLES", at_a_time)
    found = ScoredChoices(Instances(table, "choice", ("right", "wrong")), lambda rows: right[rows])
    scored = np.flatnonzero(np.arange(50) % 3)
    assert found.first_rows.tolist() == starts[scored].tolist()
    own = [right[start : start + size] for start, size in zip(starts[scored], sizes[scored], strict=True)]
    expected = [
        (one[place] == one.max()) / (one == one.max()).sum()
        for one, place in zip(own, gold[scored], strict=True)
    ]
    assert found.credits.tolist() == expected
    shares, places, counts = (np.concatenate(each) for each in zip(*found.shares(), strict=True))
    cautious = [0.9 * one + 0.05 for one in own]
    assert shares == pytest.approx(np.concatenate([one / one.sum() for one in cautious]))
    assert places.tolist() == gold[scored].tolist()
    assert counts.tolist() == sizes[scored].tolist()
