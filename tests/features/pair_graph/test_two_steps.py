"""Walks of two steps between colours of sentences against the square of the adjacency matrix."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cuecard.data.space import MEMORY, Space
from cuecard.features.pair_graph import SentencePairs, leakage_rows, two_step_walks, two_steps

Edges = npt.NDArray[np.int64]


def expected(ends: Edges, n: int, counted: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
    """A² at every pair, from scipy."""
    edges = ends if counted is None else ends[counted]
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    matrix = sparse.csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), shape=(n, n))
    square = (matrix @ matrix).toarray()
    return np.asarray(square[ends[:, 0], ends[:, 1]])


def checked(ends: Edges, n: int, counted: npt.NDArray[np.bool_] | None, space: Space) -> None:
    first, second = (np.ascontiguousarray(side, dtype=np.int32) for side in ends.T)
    steps = two_step_walks(SentencePairs(first, second, n, counted, space))
    np.testing.assert_array_equal(steps.walks, expected(ends, n, counted))
    assert steps.distinct_pairs == len(np.unique(np.sort(ends, axis=1), axis=0))


def hubs_and_loops(rng: np.random.Generator, n: int) -> Edges:
    """Pairs of hubs, of anyone, of sentences with themselves, and repeated ones either way round."""
    hubs = np.column_stack([rng.integers(0, 3, 4 * n), rng.integers(0, n, 4 * n)])
    loops = np.repeat(rng.integers(0, n, n // 10), 2).reshape(-1, 2)
    ends = np.concatenate([hubs, rng.integers(0, n, (3 * n, 2)), loops])
    again = ends[rng.integers(0, len(ends), n)]
    together = np.concatenate([ends, again, again[:, ::-1]])
    alone = n + np.arange(2 * n).reshape(-1, 2)  # sentences that have no other pair
    return rng.permutation(np.concatenate([together, alone]))


@pytest.mark.parametrize("colours", [1, 2, 3, 5])
@pytest.mark.parametrize("all_counted", [True, False])
def test_walks_through_any_number_of_colours_are_the_square_of_the_matrix(
    colours: int, all_counted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(colours)
    ends = hubs_and_loops(rng, 150)
    counted = None if all_counted else rng.random(len(ends)) < 0.6
    monkeypatch.setattr(two_steps, "_colours", lambda *_: colours)
    checked(ends, 450, counted, Space(tmp_path))
    assert not list(tmp_path.iterdir())


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=40))
def test_pairs_that_are_left_out_take_no_walk_away(edges: list[tuple[int, int, bool]]) -> None:
    table = np.array(edges, dtype=np.int64).reshape(-1, 3)
    checked(table[:, :2], 10, table[:, 2].astype(np.bool_), MEMORY)


def test_more_pairs_have_more_colours_where_they_are_in_files(tmp_path: Path) -> None:
    sizes = [1, two_steps.ENTRIES, 18 * two_steps.ENTRIES, 10**12]
    assert [two_steps._colours(size, tmp_path) for size in sizes] == [1, 2, 6, two_steps.MAXIMUM_COLOURS]
    assert [two_steps._colours(size, None) for size in sizes] == [1, 1, 1, 1]


def test_pairs_that_are_not_counted_have_the_features_of_being_added_alone() -> None:
    rng = np.random.default_rng(0)
    ends = hubs_and_loops(rng, 30)
    counted = np.arange(len(ends)) < len(ends) - 20
    first, second = ends.T
    pairs = SentencePairs(first, second, 90, counted)
    rows = leakage_rows(pairs, two_step_walks(pairs), slice(len(ends) - 20, len(ends)))
    for row, (a, b) in zip(rows, ends[~counted], strict=True):
        added = np.concatenate([ends[counted], [[a, b]]])
        alone = SentencePairs(added[:, 0], added[:, 1], 90)
        np.testing.assert_array_equal(row, leakage_rows(alone, two_step_walks(alone), slice(None))[-1])


def test_no_pairs_have_no_walks() -> None:
    nothing = np.empty(0, dtype=np.int32)
    steps = two_step_walks(SentencePairs(nothing, nothing, 0))
    assert len(steps.walks) == steps.distinct_pairs == 0
