"""Every way of drawing a map keeps neighbours together and gives the same picture twice."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from cuecard.audits.clusters.clustering import MapMethod, map_points
from cuecard.errors import MissingExtraError

PACKAGES = {"umap": "umap", "opentsne": "openTSNE"}


def needs(method: str, package: str) -> object:
    missing = find_spec(package) is None
    return pytest.param(
        method, marks=pytest.mark.skipif(missing, reason=f"the extra {method} is not installed")
    )


@pytest.mark.parametrize("method", ["tsne", "pca", *(needs(*item) for item in PACKAGES.items())])
def test_groups_of_points_stay_groups_and_twice_is_the_same(method: MapMethod) -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 40)
    points = (rng.normal(size=(120, 10)) + 12 * np.eye(3, 10)[groups]).astype(np.float32)
    places = map_points(points, method, seed=0)
    assert places.shape == (120, 2)
    assert places.dtype == np.float32
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (groups[apart.argmin(axis=1)] == groups).mean() > 0.95
    np.testing.assert_array_equal(places, map_points(points, method, seed=0))


@pytest.mark.parametrize("method", list(PACKAGES))
def test_a_map_without_its_extra_says_what_to_install(
    method: MapMethod, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuecard.audits.clusters.clustering.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=rf"pip install 'cuecard\[{method}\]'"):
        map_points(np.zeros((20, 3), dtype=np.float32), method, seed=0)


@pytest.mark.parametrize("n", [1, 5, 9, 10])
def test_a_handful_of_points_has_a_map_too(n: int) -> None:
    points = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    assert np.isfinite(map_points(points, "tsne", seed=0)).all()
