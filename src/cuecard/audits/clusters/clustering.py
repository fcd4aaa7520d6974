"""Texts become clusters: which texts, principal components, seeded k-means, and a map to look at."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Literal, get_args

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from cuecard.data import Instances
from cuecard.errors import MissingExtraError
from cuecard.features.units import similar_rows
from cuecard.stats.arrays import Ints, Singles
from cuecard.stats.clusters.k_means import k_means_centres, nearest_centres
from cuecard.text import Scope, Tokens, encode, encoded_texts, tokenise


def scoped_texts(data: Instances, scope: Scope) -> pl.Series:
    """Return the texts that are clustered."""
    if scope == "both":
        joined = pl.concat_str("premise", "hypothesis", separator=" ", ignore_nulls=True)
        return data.table.select(joined).to_series()
    return data.table[scope].fill_null("")


def scoped_tokens(data: Instances, scope: Scope, tokens: str) -> Tokens:
    """Return the tokens of the texts that are clustered."""
    if (
        scope == "both"
    ):  # where one text ends may decide how its last word is cut, so the joined texts are tokenised
        return tokenise(scoped_texts(data, scope), tokens)
    return encoded_texts(data, tokens).side(scope).renumbered()


def text_units(data: Instances, scope: Scope) -> Ints:
    """Return a code that copies of an instance's clustered text share, and similar texts where they are dependent."""
    if scope != "both" and "train" in data.splits:
        similar = similar_rows(encode(data), scope)
        if similar is not None:
            return similar
    return data.units(
        "example" if scope == "both" and not data.grouped else "hypothesis" if scope == "both" else scope
    )


def moving_units(data: Instances, scope: Scope) -> Ints | None:
    """Return a code that instances share whose labels are shuffled alike: copies of a text, or of a choice."""
    if not data.grouped:
        return text_units(data, scope)
    if data.weight is not None:  # all pairs of a row change which of their responses is chosen together
        return 2 * data.units() + data.label_codes
    if data.cluster is not None:  # a column of clusters does not say which choices are the same
        return None
    return data.units("choice")


def as_read(data: Instances, scope: Scope, texts: pl.Series | None = None) -> Instances:
    """Return the instances as a trained model shall read them: the text in its place, the other one empty.

    Changed texts of both together take the place of the hypothesis.
    """
    if scope == "both" and texts is None:
        return data
    place, other = ("premise", "hypothesis") if scope == "premise" else ("hypothesis", "premise")
    columns = [(scoped_texts(data, scope) if texts is None else texts).alias(place)]
    if data.task != "text":
        columns.append(pl.repeat("", len(data), eager=True).alias(other))
    return replace(data, table=data.table.with_columns(columns))


def clusters_of_examples(part: Instances, clusters: Ints) -> pl.DataFrame:
    """Return the cluster of every example: of its right answer where it has several."""
    table = part.table.select("example_id", pl.col("split").cast(pl.String), pl.Series("cluster", clusters))
    return table.filter(pl.Series(part.label_codes == 0)) if part.grouped else table


#: As in the paper, where SNLI's 10,000 test sentences make 50 clusters.
MOST_CLUSTERS = 50
#: With fewer sentences in a cluster its label shares are mostly noise: 100 give them an error of ± 5 points.
SENTENCES_PER_CLUSTER = 100
#: A cluster of fewer sentences says nothing about labels, yet counts as much in the score as any other: one
#: with two sentences of one label would drown the rest. Its sentences go to the nearest larger cluster.
LEAST_SENTENCES = 10
#: The centres are found on at most this many distinct texts; all texts are then assigned.
MOST_FITTED = 20_000
#: The same for a setting of the sweep, which nobody looks at by itself.
SWEEP_FITTED = 4_000


@dataclass(frozen=True, eq=False)
class Clustering:
    """Which cluster each point is in, largest first, and how far it lies from the centre."""

    clusters: Ints
    distances: Singles
    spread: float
    """Sum of the squared distances of all sentences: what k-means makes small."""

    def of_instances(self, codes: Ints) -> Clustering:
        """Return the clustering of instances from that of their distinct texts."""
        return Clustering(self.clusters[codes], self.distances[codes], self.spread)


def default_k(n: int) -> tuple[int, str]:
    """Return the number of clusters for n sentences and the reason in words."""
    if n >= MOST_CLUSTERS * SENTENCES_PER_CLUSTER:
        return MOST_CLUSTERS, f"{MOST_CLUSTERS}, as in the paper"
    k = max(2, n // SENTENCES_PER_CLUSTER)
    return k, f"{k}, one per {SENTENCES_PER_CLUSTER} of {n:,} sentences (the paper uses {MOST_CLUSTERS})"


def principal_components(vectors: Singles, weights: Ints, components: int) -> Singles:
    """Return the vectors on their first principal components; all of them, centred, for 0 components."""
    share = weights / weights.sum()
    centred: Singles = vectors - (share @ vectors).astype(np.float32)
    if components == 0 or components >= vectors.shape[1]:
        return centred
    with threadpool_limits(limits=1):  # the number of threads must not change the last digit
        covariance = (centred * share[:, None].astype(np.float32)).T @ centred
        _, axes = np.linalg.eigh(covariance.astype(np.float64))
        axes = axes[:, ::-1][:, :components]
        # An axis and its opposite serve alike: the one whose largest entry is positive is taken.
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(components)])
        return np.ascontiguousarray(centred @ axes.astype(np.float32))


def k_means(
    points: Singles,
    weights: Ints,
    k: int,
    *,
    seed: int,
    most_fitted: int = MOST_FITTED,
    smallest: int = LEAST_SENTENCES,
) -> Clustering:
    """Return at most k clusters of points that stand for `weights` sentences each; one start.

    A cluster of fewer than `smallest` sentences is merged into its neighbours.
    """
    rng = np.random.default_rng(seed)
    fitted = np.arange(len(points))
    if len(points) > most_fitted:
        fitted = np.sort(rng.choice(len(points), most_fitted, replace=False))
    centres = k_means_centres(points[fitted], weights[fitted], k, seed=seed)
    assigned, distances = nearest_centres(points, centres)
    while True:
        sizes = np.bincount(assigned, weights=weights, minlength=len(centres))
        if sizes.min() >= smallest or len(centres) <= 2:
            break
        dropped = int(sizes.argmin())
        centres = np.delete(centres, dropped, axis=0)
        # All others keep their centre, which has another number now.
        moved = np.flatnonzero(assigned == dropped)
        assigned = assigned - (assigned > dropped)
        if len(moved):
            assigned[moved], distances[moved] = nearest_centres(points[moved], centres)
    rank = np.full(len(centres), -1, dtype=np.int64)
    used = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
    rank[used] = np.arange(len(used))
    spread = float(weights @ distances.astype(np.float64) ** 2)
    return Clustering(rank[assigned], distances, spread)


def clusterings(
    points: Singles,
    weights: Ints,
    k: int,
    *,
    starts: int,
    seed: int,
    most_fitted: int = MOST_FITTED,
    smallest: int = LEAST_SENTENCES,
) -> list[Clustering]:
    """Return what seeded starts of k-means find, the tightest clustering first.

    Neighbouring seeds have no start in common, so another seed is another look. The starts run side by side on all
    cores; each does its sums in one thread, so that their number changes no digit.
    """
    seeds = [(1000 * seed + i) % 2**32 for i in range(starts)]
    with threadpool_limits(limits=1), ThreadPoolExecutor(min(starts, os.cpu_count() or 1)) as pool:
        of_starts = pool.map(
            lambda start: k_means(points, weights, k, seed=start, most_fitted=most_fitted, smallest=smallest),
            seeds,
        )
        return sorted(of_starts, key=lambda clustering: clustering.spread)


MapMethod = Literal["tsne", "opentsne", "umap", "pca", "none"]
MAP_METHODS: tuple[MapMethod, ...] = get_args(MapMethod)
#: Up to this number of points, all pairs are compared; for more, scikit-learn approximates distant points by cells.
MOST_PAIRED = 4_000
#: How coarsely far-away points are seen; 0.8 halves the time of scikit-learn's 0.5 and looks the same.
TSNE_ANGLE = 0.8
TEXT_LENGTH = 160


def sampled_for_map(n: int, size: int, *, seed: int) -> Ints:
    """Return which of n instances are on a map: all, or as many as it has room for, drawn by the seed."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def map_table(rows: pl.DataFrame, texts: pl.Series, clusters: Ints, places: Singles) -> pl.DataFrame:
    """Return the instances on a map with their place, cluster, label and the beginning of their text."""
    return rows.select(
        pl.col("example_id").cast(pl.String),
        pl.Series("x", places[:, 0]),
        pl.Series("y", places[:, 1]),
        pl.Series("cluster", clusters),
        pl.col("label").cast(pl.String),
        pl.Series("text", texts).str.slice(0, TEXT_LENGTH),
    )


def map_points(points: Singles, method: MapMethod, *, seed: int) -> Singles:
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


def _umap(points: Singles, seed: int) -> Singles:
    if find_spec("umap") is None:
        raise MissingExtraError("umap-learn", "umap", "The map 'umap'")
    from umap import UMAP

    return np.asarray(UMAP(random_state=seed).fit_transform(points), dtype=np.float32)


def _open_tsne(points: Singles, perplexity: float, seed: int) -> Singles:
    if find_spec("openTSNE") is None:
        raise MissingExtraError("openTSNE", "opentsne", "The map 'opentsne'")
    from openTSNE import TSNE

    return np.asarray(TSNE(perplexity=perplexity, random_state=seed, n_jobs=1).fit(points), dtype=np.float32)
