"""What each cluster is: its words, its labels with intervals and an exact test, and real examples."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.stats import log_q_values, wilson, within_example_test
from cuecard.stats.clusters.peco import cluster_divergence
from cuecard.stats.clusters.tests import cluster_log_p
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
    clusters: npt.NDArray[np.int64],
    words: list[list[str]],
    *,
    alpha: float,
    weights: npt.NDArray[np.float64] | None = None,
) -> pl.DataFrame:
    """Return one row per cluster, the one that moves most labels first.

    `label` is the one whose share lies furthest above its share of the set, with `share` and its 95 % interval. With
    `weights` counts and shares are of weight, `size` is of sentences still, and intervals and tests take effective
    counts: the sentences of a cluster are worth (Σw)² / Σw².
    """
    codes = data.label_codes
    l2, kl = (cluster_divergence(codes, clusters, name, weights=weights) for name in ("l2", "kl"))
    counts: npt.NDArray[Any] = np.zeros((len(l2.clusters), len(data.labels)), dtype=l2.counts.dtype)
    counts[:, l2.labels] = l2.counts
    sizes, prior = np.bincount(clusters), counts.sum(axis=0) / counts.sum()
    shares = counts / counts.sum(axis=1, keepdims=True)
    squares: npt.NDArray[Any] | None = None if weights is None else np.bincount(clusters, weights**2)
    tested = counts if squares is None else effective_counts(counts, squares)
    lows, highs = wilson(tested, np.broadcast_to(tested.sum(axis=1)[:, None], tested.shape))
    leaning = (shares - prior).argmax(axis=1)
    each = np.arange(len(sizes))
    if data.grouped:
        log_p = _within_examples(data, clusters, len(sizes), weights)
    else:
        log_p = cluster_log_p(counts) if squares is None else _weighted_log_p(counts, squares)
    log_q = log_q_values(log_p)
    low = lows[each, leaning]
    table = pl.DataFrame(
        {
            "cluster": l2.clusters,
            "words": [", ".join(found) for found in words],
            "size": sizes,
            "label": [data.labels[i] for i in leaning],
            "share": shares[each, leaning],
            "share_low": low,
            "share_high": highs[each, leaning],
            "prior": prior[leaning],
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


def _weighted_log_p(
    counts: npt.NDArray[np.float64], squares: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the exact test of each cluster against the rest, each in as many instances as it is worth."""
    found = np.zeros(len(counts))
    for i, mass in enumerate(counts if len(counts) > 1 else ()):
        others = np.arange(len(counts)) != i
        pair = np.stack([mass, counts[others].sum(axis=0)])
        found[i] = cluster_log_p(effective_counts(pair, [squares[i], squares[others].sum()]))[0]
    return found


def _within_examples(
    data: Instances, clusters: npt.NDArray[np.int64], k: int, weights: npt.NDArray[np.float64] | None
) -> npt.NDArray[np.float64]:
    """Test each cluster among the choices of a question: is the right one in it more often than by chance?"""
    mass = np.ones(len(data)) if weights is None else weights
    rows = {"example": data.example_codes, "cluster": clusters, "right": data.label_codes == 0, "w": mass}
    table = (
        pl.DataFrame(rows)
        .with_columns(rows=pl.len().over("example"))
        .group_by("example", "cluster")
        .agg(k=pl.col("rows").first(), m=pl.len(), right=pl.col("right").any(), w=pl.col("w").first())
        # Examples whose choices are all in one cluster say nothing, so they do not tell what the others are worth.
        .with_columns(telling=pl.when(pl.col("m") < pl.col("k")).then("w"))
        .with_columns(
            worth=pl.col("telling").sum().over("cluster")
            / pl.col("telling").pow(2).sum().over("cluster").clip(1e-300)
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


def characteristic_words(
    tokens: Tokens, clusters: npt.NDArray[np.int64], k: int, *, language: str = "en"
) -> list[list[str]]:
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
    found = []
    for c in range(k):
        column = content[:, c]
        best = np.argsort(-column, kind="stable")[:WORDS_PER_CLUSTER]
        found.append([tokens.vocabulary[int(i)] for i in best if column[i] > 0])
    return found


def _function_words(language: str) -> list[str]:
    try:
        return sorted(w for w in stop_words(language) if w not in _TELLING and not w.endswith("n't"))
    except UsageError:
        return []


def example_table(
    data: Instances,
    texts: pl.Series,
    clusters: npt.NDArray[np.int64],
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
