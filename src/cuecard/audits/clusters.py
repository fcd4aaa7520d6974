"""Where in meaning space does the label leak? (PECO: progressive evaluation of cluster outliers)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Result, Skip
from cuecard.audits.cluster_confidence import confidence_histogram, read_dynamics
from cuecard.audits.cluster_findings import cluster_findings, notable
from cuecard.audits.cluster_map import MAP_METHODS, MapMethod, map_points
from cuecard.audits.cluster_scores import (
    SWEEP_COMPONENTS,
    SWEEP_K,
    Labelled,
    curve_table,
    excess_by_start,
    score_rows,
    sweep_table,
)
from cuecard.audits.cluster_table import characteristic_words, cluster_table, example_table
from cuecard.audits.clustering import (
    LEAST_SENTENCES,
    Clustering,
    FloatMatrix,
    default_k,
    k_means,
    principal_components,
)
from cuecard.data import TASKS, Instances, Task
from cuecard.data.weights import unequal_weights
from cuecard.errors import UsageError
from cuecard.models import check_embedding, embed
from cuecard.registry import unknown_name
from cuecard.text import TOKENISERS, Scope, guess_language, suggested_tokeniser, tokenise
from cuecard.text.transformations import check_transformation, transformed

#: With fewer distinct texts there is nothing to cluster.
LEAST_TEXTS = 20
MAP_TEXT_LENGTH = 160


@dataclass(frozen=True)
class Clusters:
    """Cluster the sentences by what they say and compare the labels of each cluster with the whole.

    Only the text that was written for a label is looked at: the hypothesis of a pair, the choices, the text. The
    test split is analysed where there is one, else train.

    Args:
        embed: "tfidf" (needs nothing), "minilm", or the folder of a transformer checkpoint.
        k: number of clusters; by default 50, fewer for sets below 5,000 sentences.
        components: principal components kept before clustering; 0 keeps all.
        restarts: k-means starts, of which the best is taken.
        permutations: shuffles of the labels that make the null distribution.
        transformations: ways to change the texts before embedding whose scores are compared with the original's:
            "shuffled_words", "masked_nouns", "masked_function_words".
        map: "tsne", "opentsne", "umap", "pca" or "none".
        map_size: sentences on the map; more are sampled.
        sweep: whether to repeat the score for other numbers of clusters and components.
        dynamics: a file with the columns example_id and confidence, from training a model on the pairs.
        split: the split to analyse; test where there is one, else train.
        tokens: tokenisation for "tfidf" and for the words that name a cluster; what suits the language by default.
        language: ISO code of the texts' language; guessed by default.
        scope: which text is clustered.
        alpha: a cluster is significant if its q-value is at most this.
        weights: extra column that holds every instance's weight, by which labels count; the clusters are those of the
            sentences as they stand, without any of weight 0.
    """

    name: ClassVar[str] = "clusters"
    title: ClassVar[str] = "Clusters of meaning"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)

    embed: str = "tfidf"
    k: int | None = None
    components: int = 50
    restarts: int = 4
    permutations: int = 200
    transformations: tuple[str, ...] = ()
    map: MapMethod = "tsne"
    map_size: int = 3_000
    sweep: bool = True
    dynamics: str | None = None
    split: str | None = None
    tokens: str | None = None
    language: str | None = None
    scope: Scope = "hypothesis"
    alpha: float = 0.05
    seed: int = 0
    weights: str | None = None

    def __post_init__(self) -> None:
        """Check names and numbers at once, so that a typo costs no time."""
        check_embedding(self.embed)
        if self.tokens is not None:
            TOKENISERS.get(self.tokens)
        for name in self.transformations:
            check_transformation(name)
        if self.map not in MAP_METHODS:
            raise unknown_name("map", self.map, list(MAP_METHODS))
        for name, value, least in (
            ("k", self.k, 2),
            ("components", self.components, 0),
            ("restarts", self.restarts, 1),
            ("permutations", self.permutations, 1),
            ("map_size", self.map_size, 10),
        ):
            if value is not None and value < least:
                raise UsageError(f"{name} must be at least {least}, not {value}.")

    def run(self, data: Instances) -> Result:
        """Return calibrated scores, the curve, the clusters with their words and examples, and the map."""
        part, row_weights = self._part(data)
        texts = scoped_texts(part, self.scope)
        language = self.language or guess_language(texts)
        tokens = self.tokens or suggested_tokeniser(language)
        vectors, codes = embed(texts, self.embed, tokens=tokens, seed=self.seed)
        weights = np.bincount(codes, minlength=len(vectors)).astype(np.int64)
        k, why_k = self._k(len(part), len(np.unique(vectors, axis=0)))
        points = principal_components(vectors, weights, self.components)
        found = k_means(points, weights, k, restarts=self.restarts, seed=self.seed)
        clusters, distances = _numbered(found, codes)
        if clusters.max() + 1 < k:
            why_k += (
                f"; {k - int(clusters.max()) - 1} with fewer than {LEAST_SENTENCES} sentences were merged"
            )
            k = int(clusters.max()) + 1
        labelled = Labelled(
            part.label_codes,
            part.example_codes if part.grouped else None,
            self.permutations,
            self.seed,
            row_weights,
        )
        words = characteristic_words(
            tokenise(texts, tokens), clusters, int(clusters.max()) + 1, language=language
        )
        table = cluster_table(part, clusters, words, alpha=self.alpha, weights=row_weights)
        examples = example_table(part, texts, clusters, distances, seed=self.seed)
        scores = score_rows(labelled, clusters)
        summary = self._summary(part, table, scores, k, why_k, points.shape[1], len(vectors), tokens)
        summary["excess_by_start"] = excess_by_start(labelled, points, weights, codes, k)
        tables = {
            "clusters": table,
            "cluster_examples": examples,
            "cluster_scores": pl.DataFrame(scores),
            "cluster_curve": curve_table(labelled, clusters),
        }
        if self.sweep:
            tables["cluster_sweep"] = sweep_table(
                labelled,
                vectors,
                weights,
                codes,
                k=(*SWEEP_K, k),
                components=(*SWEEP_COMPONENTS, self.components),
            )
        if self.map != "none":
            tables["cluster_map"] = self._map(part, texts, points, codes, clusters)
        if self.transformations:
            tables["cluster_transformations"] = self._transformed(
                texts, labelled, scores, k, tokens, language
            )
        about = _about_examples(part, clusters)
        if self.dynamics:
            tables["cluster_confidence"] = confidence_histogram(
                about.join(table.select("cluster", "divergence_l2"), on="cluster"),
                read_dynamics(self.dynamics),
            )
        findings = cluster_findings(part, table, examples, summary, scope=self.scope, alpha=self.alpha)
        return Result(summary, tables, findings, about)

    def _part(self, data: Instances) -> tuple[Instances, npt.NDArray[np.float64] | None]:
        name = self.split or ("test" if "test" in data.splits else "train")
        if name not in data.splits:
            raise Skip(f"there is no {name} split; the splits are {', '.join(data.splits)}")
        weights = unequal_weights(data, self.weights)
        part = data.split(name)
        if weights is not None:
            weights = weights[(data.table["split"].cast(pl.String) == name).to_numpy()]
            part = replace(part, table=part.table.filter(pl.Series(weights > 0)))
            weights = weights[weights > 0]
            weights = None if (weights == weights[0]).all() else weights
        present = np.unique(part.label_codes)
        if len(present) < 2:
            raise Skip(f"all {name} instances have the same label, so no cluster can differ from the whole")
        return part, weights

    def _k(self, n: int, distinct: int) -> tuple[int, str]:
        if distinct < LEAST_TEXTS:
            raise Skip(f"clusters need at least {LEAST_TEXTS} texts that differ, and there are {distinct}")
        if self.k is None:
            k, why = default_k(n)
            return (
                (k, why)
                if k <= distinct // 2
                else (distinct // 2, f"{distinct // 2}: half the distinct texts")
            )
        if self.k > distinct:
            raise Skip(f"k = {self.k} clusters were asked for, and there are {distinct} texts that differ")
        return self.k, f"{self.k}, as asked for"

    def _summary(
        self,
        part: Instances,
        table: pl.DataFrame,
        scores: list[dict[str, Any]],
        k: int,
        why_k: str,
        components: int,
        distinct: int,
        tokens: str,
    ) -> dict[str, Any]:
        exact = scores[0]
        leaning = notable(table)
        return {
            "k": k,
            "components": components,
            **{f"peco_{row['mode']}_{row['divergence']}": row["score"] for row in scores},
            "null_mean": exact["null_mean"],
            "null_low": exact["null_low"],
            "null_high": exact["null_high"],
            "excess": exact["excess"],
            "excess_low": exact["low"],
            "excess_high": exact["high"],
            "p_value": exact["p_value"],
            "why_k": why_k,
            "embedding": self.embed,
            "tokens": tokens,
            "scope": self.scope,
            "split": part.splits[0],
            "instances": len(part),
            "distinct_texts": distinct,
            "significant_clusters": int(table["significant"].sum()),
            "leaning_clusters": leaning.height,
            "leaning_share": int(leaning["size"].sum()) / len(part),
            "null": "within-example" if part.grouped else "shuffled",
            "alpha": self.alpha,
        }

    def _map(
        self,
        part: Instances,
        texts: pl.Series,
        points: FloatMatrix,
        codes: npt.NDArray[np.int64],
        clusters: npt.NDArray[np.int64],
    ) -> pl.DataFrame:
        rows = np.arange(len(part))
        if len(rows) > self.map_size:
            rows = np.sort(np.random.default_rng(self.seed).choice(rows, self.map_size, replace=False))
        places = map_points(points[codes[rows]], self.map, seed=self.seed)
        return part.table[rows].select(
            pl.col("example_id").cast(pl.String),
            pl.Series("x", places[:, 0]),
            pl.Series("y", places[:, 1]),
            pl.Series("cluster", clusters[rows]),
            pl.col("label").cast(pl.String),
            pl.Series("text", texts.gather(rows)).str.slice(0, MAP_TEXT_LENGTH),
        )

    def _transformed(
        self,
        texts: pl.Series,
        labelled: Labelled,
        original: list[dict[str, Any]],
        k: int,
        tokens: str,
        language: str,
    ) -> pl.DataFrame:
        rows = [{"transformation": "original", **original[0]}]
        for name in self.transformations:
            changed = transformed(texts, name, language=language, seed=self.seed)
            vectors, codes = embed(changed, self.embed, tokens=tokens, seed=self.seed)
            weights = np.bincount(codes, minlength=len(vectors)).astype(np.int64)
            points = principal_components(vectors, weights, self.components)
            few = min(k, len(np.unique(points, axis=0)))
            found = k_means(points, weights, few, restarts=self.restarts, seed=self.seed)
            rows.append({"transformation": name, **score_rows(labelled, _numbered(found, codes)[0])[0]})
        return pl.DataFrame(rows).drop("divergence", "mode").rename({"score": "peco_exact_l2"})


def scoped_texts(data: Instances, scope: Scope) -> pl.Series:
    """Return the texts that are clustered."""
    if scope == "both":
        joined = pl.concat_str("premise", "hypothesis", separator=" ", ignore_nulls=True)
        return data.table.select(joined).to_series()
    return data.table[scope].fill_null("")


def _numbered(
    found: Clustering, codes: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return cluster and distance of every instance, clusters numbered without gaps."""
    clusters = found.clusters[codes]
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64), found.distances[codes]


def _about_examples(part: Instances, clusters: npt.NDArray[np.int64]) -> pl.DataFrame:
    """Return the cluster of every example: of its right answer where it has several."""
    table = part.table.select("example_id", pl.col("split").cast(pl.String), pl.Series("cluster", clusters))
    return table.filter(pl.Series(part.label_codes == 0)) if part.grouped else table
