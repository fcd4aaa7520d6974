from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cuecard.stats.clusters.k_means import k_means_centres, nearest_centres


def blobs(n: int, dimensions: int, groups: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(groups, dimensions))
    return (middles[rng.integers(0, groups, n)] + rng.normal(scale=0.7, size=(n, dimensions))).astype(
        np.float32
    )


@pytest.mark.parametrize(("k", "dimensions", "seed"), [(3, 2, 0), (20, 10, 1), (50, 30, 2)])
def test_the_centres_are_those_of_scikit_learn(k, dimensions, seed):
    points = blobs(1_500, dimensions, 12)
    weights = np.random.default_rng(seed).integers(1, 5, len(points)).astype(np.float32)
    expected = KMeans(k, n_init=1, random_state=seed).fit(points, sample_weight=weights).cluster_centers_
    np.testing.assert_allclose(k_means_centres(points, weights, k, seed=seed), expected, atol=1e-5)


def test_a_weight_counts_as_so_many_points():
    points = blobs(60, 2, 3)
    weights = np.random.default_rng(0).integers(1, 4, len(points))
    repeated = np.repeat(points, weights, axis=0)

    def spread(centres):
        return float((weights * nearest_centres(points, centres)[1] ** 2).sum())

    once = [k_means_centres(points, weights.astype(np.float32), 3, seed=seed) for seed in range(8)]
    copied = [
        k_means_centres(repeated, np.ones(len(repeated), np.float32), 3, seed=seed) for seed in range(8)
    ]
    assert min(map(spread, once)) == pytest.approx(min(map(spread, copied)), rel=1e-5)


def test_more_centres_than_distinct_points_leave_every_point_on_one():
    points = np.repeat(np.array([[0, 0], [1, 0], [5, 5]], dtype=np.float32), 10, axis=0)
    centres = k_means_centres(points, np.ones(30, np.float32), 5, seed=0)
    assert np.isfinite(centres).all()
    np.testing.assert_allclose(nearest_centres(points, centres)[1], 0, atol=1e-6)


def test_the_nearest_centre_is_found_by_brute_force_too():
    points, centres = blobs(200, 4, 3), blobs(7, 4, 3, seed=1)
    distances = np.linalg.norm(points[:, None] - centres, axis=2)
    assigned, apart = nearest_centres(points, centres)
    np.testing.assert_array_equal(assigned, distances.argmin(axis=1))
    np.testing.assert_allclose(apart, distances.min(axis=1), rtol=1e-5)
