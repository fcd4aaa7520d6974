"""What each cluster is: its words, its labels with intervals and an exact test, and real examples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.stats import log_q_values, wilson, within_example_test
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.clusters.divergence import cluster_log_p
from cuecard.stats.clusters.peco import cluster_divergence
from cuecard.stats.units import has_repeats
from cuecard.stats.weighted import effective_counts
from cuecard.text import Tokens, presence_counts, stop_words

WORDS_PER_CLUSTER = 5
EXAMPLES_PER_CLUSTER = 5
#: A function word names a cluster if at least this share of its texts have it, and twice what all texts have.
_TELLING_SHARE = 0.5
_TELLING_LIFT = 2.0
#: A word that is hardly more frequent in a cluster than elsewhere does not name it.
_LEAST_LIFT = 1.5
#: Function words that name a cluster as any other word does.
_TELLING = frozenset({"no", "not", "nor", "cannot", "n't", "any", "all", "some", "only", "because"})


def cluster_table(
    data: Instances,
    clusters: Ints,
    words: list[list[str]],
    *,
    alpha: float,
    units: Ints | None = None,
    weights: Floats | None = None,
) -> pl.DataFrame:
    """Return one row per cluster, the one that moves most labels first.

    `label` is the one whose share lies furthest above its `prior`, with `share` and its 95 % CI; the prior is its
    share of the set, and for grouped tasks what chance gives in the cluster's own examples, 1/k each. With `units`,
    codes that copies of a text share, `texts` counts the distinct ones, and intervals and tests take effective counts.
    With `weights` counts and shares are of weight, and `size` is of sentences still. The sentences of a cluster are
    worth (Σw)² / Σ_c (Σ_{i∈c} w)² over the units c in it.
    """
    codes = data.label_codes
    own = np.arange(len(codes)) if units is None else units
    repeated = has_repeats(own)
    l2, kl = (cluster_divergence(codes, clusters, name, weights=weights) for name in ("l2", "kl"))
    counts: Floats = np.zeros((len(l2.clusters), len(data.labels)), dtype=l2.counts.dtype)
    counts[:, l2.labels] = l2.counts
    sizes = np.bincount(clusters)
    prior = _priors(data, clusters, counts, weights)
    shares = counts / counts.sum(axis=1, keepdims=True)
    in_units, of_cluster, mass = _unit_sums(own, clusters, weights)
    squares = (
        np.asarray(np.bincount(of_cluster, mass**2), np.float64) if repeated or weights is not None else None
    )
    tested = counts if squares is None else effective_counts(counts, squares)
    lows, highs = wilson(tested, np.broadcast_to(tested.sum(axis=1)[:, None], tested.shape))
    leaning = (shares - prior).argmax(axis=1)
    each = np.arange(len(sizes))
    if data.grouped:
        log_p = _within_examples(data, clusters, len(sizes), own if repeated else data.example_codes, weights)
    else:
        log_p = cluster_log_p(counts) if squares is None else _weighted_log_p(counts, squares)
    log_q = log_q_values(log_p)
    low = lows[each, leaning]
    table = pl.DataFrame(
        {
            "cluster": l2.clusters,
            "words": [", ".join(distinctive) for distinctive in words],
            "size": sizes,
            "texts": in_units,
            "label": [data.labels[i] for i in leaning],
            "share": shares[each, leaning],
            "share_low": low,
            "share_high": highs[each, leaning],
            "prior": prior[each, leaning],
            "divergence_l2": l2.divergence,
            "divergence_kl": kl.divergence,
            "p_value": np.exp(log_p),
            "log10_p": log_p / np.log(10),
            "q_value": np.exp(log_q),
            "significant": log_q <= np.log(alpha),
        }
    )
    per_label = [
        pl.Series(f"{kind}_{label}", values[:, i])
        for i, label in enumerate(data.labels)
        for kind, values in (("count", counts), ("share", shares), ("low", lows), ("high", highs))
    ]
    moved = pl.col("size") * (pl.col("share") - pl.col("prior"))
    return table.with_columns(per_label).sort(moved, descending=True, maintain_order=True)


def _priors(
    data: Instances,
    clusters: Ints,
    counts: Floats,
    weights: Floats | None,
) -> Floats:
    """Return what chance gives each label (columns) in every cluster."""
    if not data.grouped:
        return np.broadcast_to(counts.sum(axis=0) / counts.sum(), counts.shape)
    chance = 1 / np.bincount(data.example_codes)[data.example_codes]
    mass = np.ones(len(data)) if weights is None else weights
    right = np.bincount(clusters, chance * mass) / np.bincount(clusters, mass)
    return np.column_stack([right, 1 - right])


def _unit_sums(units: Ints, clusters: Ints, weights: Floats | None) -> tuple[Ints, Ints, Floats]:
    """Return how many units each cluster has, and for each cluster and unit in it the cluster and the weight."""
    k = int(clusters.max(initial=0)) + 1
    keys, code = np.unique(units * k + clusters, return_inverse=True)
    mass = np.bincount(code.ravel(), weights, minlength=len(keys)).astype(np.float64)
    of_cluster = (keys % k).astype(np.int64)
    return np.bincount(of_cluster, minlength=k), of_cluster, mass


def _weighted_log_p(counts: Floats, squares: Floats) -> Floats:
    """Return the exact test of each cluster against the rest, each with its effective number of instances."""
    log_p = np.zeros(len(counts))
    for i, mass in enumerate(counts if len(counts) > 1 else ()):
        others = np.arange(len(counts)) != i
        pair = np.stack([mass, counts[others].sum(axis=0)])
        log_p[i] = cluster_log_p(effective_counts(pair, [squares[i], squares[others].sum()]))[0]
    return log_p


def _within_examples(
    data: Instances,
    clusters: Ints,
    k: int,
    units: Ints,
    weights: Floats | None,
) -> Floats:
    """Test each cluster among the choices of a question: is the right one in it more often than by chance?

    Questions whose choices in the cluster are copies of one text are one observation.
    """
    mass = np.ones(len(data)) if weights is None else weights
    rows = {
        "example": data.example_codes,
        "cluster": clusters,
        "unit": units,
        "right": data.label_codes == 0,
        "w": mass,
    }
    table = (
        pl.DataFrame(rows)
        .with_columns(rows=pl.len().over("example"))
        .group_by("example", "cluster")
        .agg(
            pl.col("unit").min(),
            k=pl.col("rows").first(),
            m=pl.len(),
            right=pl.col("right").any(),
            w=pl.col("w").first(),
        )
        # Examples whose choices are all in one cluster say nothing, also not about the effective size of the others.
        .with_columns(telling=pl.when(pl.col("m") < pl.col("k")).then("w"))
        .with_columns(together=pl.col("telling").sum().over("cluster", "unit") * pl.col("telling"))
        .with_columns(
            worth=pl.col("telling").sum().over("cluster")
            / pl.col("together").sum().over("cluster").clip(1e-300)
        )
        .group_by("cluster", "k", "m")
        .agg(
            n=(pl.col("w") * pl.col("worth")).sum().round(),
            right=(pl.col("w") * pl.col("worth")).filter("right").sum().round(),
        )
        .sort("cluster", "k", "m")
    )
    columns = (table[name].cast(pl.Int64).to_numpy() for name in ("cluster", "k", "m", "n", "right"))
    return within_example_test(*columns, n_features=k).log_p()


def characteristic_words(tokens: Tokens, clusters: Ints, k: int, *, language: str = "en") -> list[list[str]]:
    """Return the words of highest local mutual information with each cluster, against all other texts.

    LMI(w, c) = p(w, c) · log(p(w, c) / p(w) p(c)), over texts that contain w. Function words are left out unless they
    make the cluster: most of its texts have the word, and twice as many as elsewhere.
    """
    counts = presence_counts(tokens, clusters.astype(np.int32), k).astype(np.float64)
    sizes = np.bincount(clusters, minlength=k)
    expected = counts.sum(axis=1, keepdims=True) * sizes / max(len(clusters), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.where(counts > 0, counts * np.log(counts / expected), 0.0)
    function_words = tokens.vocabulary.is_in(_function_words(language)).to_numpy()
    telling = (counts >= _TELLING_SHARE * sizes) & (counts >= _TELLING_LIFT * expected)
    hidden = (function_words[:, None] & ~telling) | (counts < _LEAST_LIFT * expected)
    content = np.where(hidden, 0.0, information)
    by_cluster = []
    for c in range(k):
        column = content[:, c]
        best = np.argsort(-column, kind="stable")[:WORDS_PER_CLUSTER]
        by_cluster.append([tokens.vocabulary[int(i)] for i in best if column[i] > 0])
    return by_cluster


def _function_words(language: str) -> list[str]:
    try:
        return sorted(w for w in stop_words(language) if w not in _TELLING and not w.endswith("n't"))
    except UsageError:
        return []


def example_table(
    data: Instances,
    texts: pl.Series,
    clusters: Ints,
    distances: npt.NDArray[np.float32],
    *,
    seed: int,
) -> pl.DataFrame:
    """Return a few distinct texts of every cluster: those nearest its centre, and others at random."""
    rng = np.random.default_rng(seed)
    kept, kinds = [], []
    codes = texts.cast(pl.Enum(texts.unique(maintain_order=True))).to_physical().to_numpy()
    by_distance = np.lexsort((distances, clusters))
    bounds = np.searchsorted(clusters[by_distance], np.arange(int(clusters.max()) + 2))
    for start, end in pairwise(bounds):
        rows = by_distance[start:end]
        _, first = np.unique(codes[rows], return_index=True)
        rows = rows[np.sort(first)]
        nearest, others = rows[:EXAMPLES_PER_CLUSTER], rows[EXAMPLES_PER_CLUSTER:]
        drawn = rng.choice(others, min(EXAMPLES_PER_CLUSTER, len(others)), replace=False)
        kept += [*nearest, *drawn]
        kinds += ["nearest"] * len(nearest) + ["random"] * len(drawn)
    chosen = np.asarray(kept, dtype=np.int64)
    return data.table[chosen].select(
        pl.Series("cluster", clusters[chosen]),
        pl.Series("kind", kinds),
        pl.col("example_id").cast(pl.String),
        pl.col("split").cast(pl.String),
        "position",
        pl.col("label").cast(pl.String),
        pl.Series("text", texts.gather(chosen)),
        pl.Series("distance", distances[chosen]),
    )
