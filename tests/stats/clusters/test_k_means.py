"""Weighted k-means: centres as scikit-learn finds them, and the nearest centre by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cuecard.stats.clusters import k_means
from cuecard.stats.clusters.k_means import k_means_centres, nearest_centres


def points_around(centres: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around centres that overlap, and how often each occurs."""
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(centres, 8))[rng.integers(0, centres, n)]
    return (places + 0.7 * rng.normal(size=(n, 8))).astype(np.float32), rng.integers(1, 5, n)


@pytest.mark.parametrize(("k", "seed"), [(2, 0), (5, 1), (20, 2), (60, 3)])
def test_centres_are_those_of_scikit_learn(k, seed):
    points, weights = points_around(12, 700, seed)
    centres = k_means_centres(points, weights, k, seed=seed)
    model = KMeans(k, n_init=1, random_state=seed).fit(points, sample_weight=weights)
    assert centres == pytest.approx(model.cluster_centers_, abs=1e-4)
    assert centres.dtype == np.float32


def test_nearest_centres_are_those_of_brute_force_however_many_are_looked_at(monkeypatch):
    points, _ = points_around(6, 300, 4)
    centres = points[::40].copy()
    distances = np.sqrt(((points[:, None].astype(float) - centres.astype(float)) ** 2).sum(axis=2))
    monkeypatch.setattr(k_means, "AT_A_TIME", 7)
    nearest, far = nearest_centres(points, centres)
    assert np.array_equal(nearest, distances.argmin(axis=1))
    assert far == pytest.approx(distances.min(axis=1), abs=1e-6)


def test_more_clusters_than_distinct_points_leave_no_gaps():
    points = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    centres = k_means_centres(points, np.ones(12, dtype=np.int64), 5, seed=0)
    assert np.isfinite(centres).all()
    assert nearest_centres(points, centres)[1] == pytest.approx(np.zeros(12), abs=1e-3)
