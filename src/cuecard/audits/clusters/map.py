"""A two-dimensional map of sentences, for people to look at."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl
from threadpoolctl import threadpool_limits

from cuecard.errors import MissingExtraError
from cuecard.stats.arrays import Singles

MapMethod = Literal["tsne", "opentsne", "umap", "pca", "none"]
MAP_METHODS: tuple[MapMethod, ...] = get_args(MapMethod)
#: Up to this number of points, all pairs are compared; for more, scikit-learn approximates distant points by cells.
MOST_PAIRED = 4_000
#: How coarsely far-away points are seen; 0.8 halves the time of scikit-learn's 0.5 and looks the same.
TSNE_ANGLE = 0.8
TEXT_LENGTH = 160


def sampled_for_map(n: int, size: int, *, seed: int) -> npt.NDArray[np.int64]:
    """Return which of n instances are on a map: all, or as many as it has room for, drawn by the seed."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def map_table(
    rows: pl.DataFrame, texts: pl.Series, clusters: npt.NDArray[np.int64], places: npt.NDArray[np.float32]
) -> pl.DataFrame:
    """Return the instances on a map with their place, cluster, label and the beginning of their text."""
    return rows.select(
        pl.col("example_id").cast(pl.String),
        pl.Series("x", places[:, 0]),
        pl.Series("y", places[:, 1]),
        pl.Series("cluster", clusters),
        pl.col("label").cast(pl.String),
        pl.Series("text", texts).str.slice(0, TEXT_LENGTH),
    )


def map_points(points: Singles, method: MapMethod, *, seed: int) -> npt.NDArray[np.float32]:
    """Return two coordinates per point; neighbours stay neighbours, distances between groups mean little.

    `points` are principal components, largest first.
    """
    perplexity = min(30.0, max(2.0, (len(points) - 1) / 3))
    if method == "pca" or len(points) < 10:
        flat = np.zeros((len(points), 2), dtype=np.float32)
        flat[:, : min(2, points.shape[1])] = points[:, :2]
        return flat
    with threadpool_limits(limits=1):
        if method == "umap":
            return _umap(points, seed)
        if method == "opentsne":
            return _open_tsne(points, perplexity, seed)
        if len(points) <= MOST_PAIRED:
            from cuecard.stats.clusters.tsne import tsne

            return tsne(points, perplexity=perplexity)
        from sklearn.manifold import TSNE

        model = TSNE(perplexity=perplexity, max_iter=500, angle=TSNE_ANGLE, init="pca", random_state=seed)
        return np.asarray(model.fit_transform(points), dtype=np.float32)


def _umap(points: Singles, seed: int) -> npt.NDArray[np.float32]:
    if find_spec("umap") is None:
        raise MissingExtraError("umap-learn", "umap", "The map 'umap'")
    from umap import UMAP

    return np.asarray(UMAP(random_state=seed).fit_transform(points), dtype=np.float32)


def _open_tsne(points: Singles, perplexity: float, seed: int) -> npt.NDArray[np.float32]:
    if find_spec("openTSNE") is None:
        raise MissingExtraError("openTSNE", "opentsne", "The map 'opentsne'")
    from openTSNE import TSNE

    return np.asarray(TSNE(perplexity=perplexity, random_state=seed, n_jobs=1).fit(points), dtype=np.float32)
