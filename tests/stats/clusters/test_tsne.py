from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import TSNE, trustworthiness
from sklearn.manifold._utils import _binary_search_perplexity

from cuecard.stats import _native
from cuecard.stats.clusters.tsne import joint_shares, tsne


@pytest.fixture(scope="module")
def points() -> np.ndarray:
    rng = np.random.default_rng(0)
    middles = 3 * rng.normal(size=(6, 8))
    around = middles[rng.integers(0, 6, 240)] + rng.normal(size=(240, 8))
    around -= around.mean(axis=0)
    return np.asarray(around @ np.linalg.svd(around, full_matrices=False)[2].T, dtype=np.float32)


def divergence(points: np.ndarray, places: np.ndarray) -> float:
    """Return what t-SNE makes small, computed pair by pair."""
    near = joint_shares(points, 20.0).toarray()
    squared = ((places[:, None].astype(float) - places) ** 2).sum(axis=2)
    alike = 1 / (1 + squared)
    np.fill_diagonal(alike, 0)
    there = near > 0
    return float((near[there] * np.log(near[there] / (alike / alike.sum())[there])).sum())


def test_the_map_is_as_good_as_that_of_scikit_learn(points):
    ours = tsne(points, perplexity=20.0)
    theirs = TSNE(perplexity=20.0, max_iter=500, init="pca", random_state=0).fit_transform(points)
    assert divergence(points, ours) < 1.1 * divergence(points, theirs)
    assert trustworthiness(points, ours) > trustworthiness(points, theirs) - 0.02


def test_the_shares_of_neighbours_are_those_of_scikit_learn():
    distances = np.sort(np.random.default_rng(1).random((50, 40)), axis=1) ** 2
    expected = _binary_search_perplexity(distances.astype(np.float32), 10.0, 0)
    np.testing.assert_allclose(_native.neighbour_shares(distances, 10.0), expected, atol=1e-4)


def test_a_map_is_the_same_every_time_and_has_a_place_for_every_point(points):
    first = tsne(points[:40], perplexity=10.0)
    assert first.shape == (40, 2)
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, tsne(points[:40], perplexity=10.0))


def test_points_on_a_line_and_equal_points_have_places():
    assert np.isfinite(tsne(np.arange(20, dtype=np.float32)[:, None], perplexity=5.0)).all()
    assert np.isfinite(tsne(np.zeros((15, 2), np.float32), perplexity=4.0)).all()


def test_a_map_that_loses_an_axis_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, widths = _native.descend, []

    def losing(places: np.ndarray, *arguments: object) -> None:
        widths.append(places.std(axis=0))
        usual(places, *arguments)
        if len(widths) == 1:
            places[:, 1] = 1e-7

    points = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32) * np.array(
        [4, 1, 1, 1, 1], np.float32
    )
    with monkeypatch.context() as patched:
        patched.setattr(_native, "descend", losing)
        found = tsne(points, perplexity=10)
    assert found.std(axis=0).min() > 0.1
    assert widths[0][0] > 2 * widths[0][1]
    assert widths[1][0] == pytest.approx(widths[1][1], rel=1e-4)
    widths.clear()
    assert not np.array_equal(
        found, tsne(points, perplexity=10)
    )  # where none is lost, it begins as it always did
