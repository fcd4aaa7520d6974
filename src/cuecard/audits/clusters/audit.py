"""Where in meaning space does the label leak? (PECO: progressive evaluation of cluster outliers)"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar
from warnings import catch_warnings

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from cuecard.analysis import Measure, MeasureKind, Result, Skip, Summary
from cuecard.audits.clusters.clustering import (
    LEAST_SENTENCES,
    MAP_METHODS,
    Clustering,
    MapMethod,
    as_read,
    clusterings,
    clusters_of_examples,
    default_k,
    map_points,
    map_table,
    moving_units,
    principal_components,
    sampled_for_map,
    scoped_texts,
    scoped_tokens,
    text_units,
)
from cuecard.audits.clusters.external_clusters import confidence_histogram, read_dynamics
from cuecard.audits.clusters.findings import cluster_findings, notable
from cuecard.audits.clusters.scores import (
    PRINTED,
    SCORES,
    SWEEP_K,
    Labelled,
    curve_table,
    information,
    over_starts,
    score_table,
    start_summary,
    start_table,
    sweep_row,
    sweep_table,
)
from cuecard.audits.clusters.table import characteristic_words, cluster_table, example_table
from cuecard.audits.clusters.view import cluster_view
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.data.weights import unequal_weights
from cuecard.errors import UsageError
from cuecard.models import check_embedding, embed
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Floats, Ints, Singles
from cuecard.stats.clusters.peco import SampleDesign
from cuecard.stats.clusters.peco_starts import PecoStarts
from cuecard.text import TOKENISERS, Scope, language_of, suggested_tokeniser
from cuecard.text.transformations import check_transformation, transformed

NAME = "clusters"
PECO = MeasureKind("peco", "PECO", "score", "higher")
EXCESS = MeasureKind("excess", "PECO above chance", "score", "higher")
INFORMATION = MeasureKind("information", "label information of the clusters", "bits", "higher")
P_VALUE = MeasureKind("p", "p-value of PECO", "p", "lower")
RELEASED = MeasureKind("peco_released", "PECO as released", "score", "higher")
LEANING = MeasureKind("leaning_share", "texts in clusters that predict a label", "share", "higher")
SIGNIFICANT = MeasureKind("significant", "significant clusters", "count", "higher")
LARGEST = MeasureKind("largest_cluster", "texts in the largest cluster", "share")
KINDS = (PECO, EXCESS, INFORMATION, P_VALUE, RELEASED, LEANING, SIGNIFICANT, LARGEST)


def cluster_measures(summary: Summary) -> list[Measure]:
    """Return PECO against shuffled labels, and how much of the set lies in clusters that lean to a label."""
    n = summary["instances"]
    ends = {"low": summary["excess_low"], "high": summary["excess_high"]}
    return [
        PECO.of(NAME, summary["peco_exact_l2"], chance=summary["null_mean"], n=n),
        EXCESS.of(NAME, summary["excess"], **ends, chance=0.0, n=n),
        INFORMATION.of(
            NAME,
            summary["information"],
            low=summary["information_low"],
            high=summary["information_high"],
            chance=0.0,
            n=n,
        ),
        P_VALUE.of(NAME, math.log10(summary["p_value"]), n=n),
        RELEASED.of(NAME, summary["peco_released_l2"], n=n),
        LEANING.of(NAME, summary["leaning_share"], n=n),
        SIGNIFICANT.of(NAME, summary["significant_clusters"], n=n),
        LARGEST.of(NAME, summary["largest_cluster"], n=n),
    ]


#: With fewer distinct texts there is nothing to cluster.
LEAST_TEXTS = 20


@dataclass(frozen=True)
class Clusters:
    """Cluster the sentences by what they say and compare the labels of each cluster with the whole.

    Only the text that was written for a label is looked at: the hypothesis of a pair, the choices, the text. The
    test split is analysed where there is one, otherwise train.

    Args:
        embed: "tfidf" (needs nothing), "minilm", or the folder of a trained model or a transformer checkpoint.
        k: number of clusters; by default 50, fewer for sets below 5,000 sentences.
        components: principal components kept before clustering; 0 keeps all.
        merge: whether clusters of fewer than 10 sentences join their neighbours; the paper leaves them.
        restarts: k-means starts. The score is the mean over all of them; the tightest one is shown.
        permutations: shuffles of the labels that make the null distribution.
        transformations: ways to change the texts before embedding whose scores are compared with the original's:
            "shuffled_words", or a class of words masked: "masked_nouns", "masked_verbs", "masked_adjectives",
            "masked_adverbs", "masked_negations", "masked_function_words".
        map: "tsne", "opentsne", "umap", "pca" or "none".
        map_size: sentences on the map; more are sampled.
        sweep: whether to repeat the score for other numbers of clusters and components.
        sweep_components: those numbers of components, such as 0,50,100 for the paper's Table 5.
        dynamics: a file with the columns example_id and confidence, from training a model on the pairs.
        split: the split to analyse; test where there is one, otherwise train.
        tokens: tokenisation for "tfidf" and for the words that name a cluster; what suits the language by default.
        language: ISO code of the texts' language; guessed by default.
        scope: which text is clustered.
        alpha: a cluster is significant if its q-value is at most this.
        weights: extra column that holds every instance's weight, by which labels count; the clusters are those of the
            sentences as they stand, without any of weight 0.
    """

    name: ClassVar[str] = "clusters"
    title: ClassVar[str] = "Clusters of meaning"
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    view = staticmethod(cluster_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS

    embed: str = "tfidf"
    k: int | None = None
    components: int = 50
    merge: bool = True
    restarts: int = 10
    permutations: int = 200
    transformations: tuple[str, ...] = ()
    map: MapMethod = "tsne"
    map_size: int = 1_000
    sweep: bool = True
    sweep_components: tuple[int, ...] = (0, 10, 50)
    dynamics: str | None = None
    split: str | None = None
    tokens: str | None = None
    language: str | None = None
    scope: Scope = "hypothesis"
    alpha: float = 0.05
    seed: int = 0
    weights: str | None = None

    @property
    def extras(self) -> frozenset[str]:
        """Optional dependencies of the embedding and of the map."""
        return frozenset({self.embed, self.map} & {"minilm", "umap", "opentsne"})

    @property
    def parallel(self) -> bool:
        """Whether it may run beside other audits: sentence encoders use all cores."""
        return self.embed == "tfidf"

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
            ("sweep_components", min(self.sweep_components, default=0), 0),
            ("restarts", self.restarts, 1),
            ("permutations", self.permutations, 1),
            ("map_size", self.map_size, 10),
        ):
            if value is not None and value < least:
                raise UsageError(f"{name} must be at least {least}, not {value}.")

    def run(self, data: Instances) -> Result:
        """Return calibrated scores, the curve, the clusters with their words and examples, and the map."""
        part, row_weights = self._part(data)
        dynamics = read_dynamics(self.dynamics, part.splits[0]) if self.dynamics else None
        texts = scoped_texts(part, self.scope)
        language = self.language or language_of(part)
        tokens = self.tokens or suggested_tokeniser(language)
        tokenised = scoped_tokens(part, self.scope, tokens)
        vectors, codes = embed(
            texts,
            self.embed,
            tokens=tokens,
            seed=self.seed,
            data=as_read(part, self.scope),
            tokenised=tokenised,
        )
        weights = np.bincount(codes, minlength=len(vectors)).astype(np.int64)
        requested, why_k = self._k(len(part), len(np.unique(vectors, axis=0)))
        points = principal_components(vectors, weights, self.components)
        shown = sampled_for_map(len(part), self.map_size, seed=self.seed)
        # The map is drawn beside everything else. Sums are done in one thread meanwhile: were the number of threads
        # to change while one of the two runs, so would the last digit. Filters of warnings are no thread's own either.
        with threadpool_limits(limits=1), catch_warnings(action="ignore"), ThreadPoolExecutor(1) as beside:
            if self.map != "none":
                places = beside.submit(map_points, points[codes[shown]], self.map, seed=self.seed)
            of_starts = self._clusterings(points, weights, codes, requested)
            clusters, distances = of_starts[0].clusters, of_starts[0].distances
            k = int(clusters.max()) + 1
            if k < requested:
                why_k += f"; {requested - k} with fewer than {LEAST_SENTENCES} sentences were merged"
            labelled = Labelled(
                part.label_codes,
                SampleDesign(
                    part.example_codes if part.grouped else None, moving_units(part, self.scope), row_weights
                ),
                self.permutations,
                self.seed,
            )
            words = characteristic_words(tokenised, clusters, k, language=language)
            table = cluster_table(
                part,
                clusters,
                words,
                alpha=self.alpha,
                units=text_units(part, self.scope),
                weights=row_weights,
            )
            examples = example_table(part, texts, clusters, distances, seed=self.seed)
            scores = over_starts(labelled, of_starts, wanted=[*SCORES, PRINTED])
            starts = start_table(of_starts, scores[0])
            summary = {
                **self._summary(part, table, scores, why_k, points.shape[1], len(vectors), tokens),
                "k": k,
                "k_asked": requested,
                **start_summary(starts, self.alpha),
                **information(labelled, of_starts),
            }
            tables = {
                "clusters": table,
                "cluster_examples": examples,
                "cluster_scores": score_table(scores),
                "cluster_starts": starts,
                "cluster_curve": curve_table(labelled, clusters),
            }
            if self.sweep:
                tables["cluster_sweep"] = sweep_table(
                    labelled,
                    vectors,
                    weights,
                    codes,
                    k=(*SWEEP_K, requested),
                    components=(*self.sweep_components, self.components),
                    smallest=self._smallest,
                    headline=sweep_row(
                        labelled, requested, min(self.components, vectors.shape[1]), of_starts, scores[0]
                    ),
                )
            if self.map != "none":
                tables["cluster_map"] = map_table(
                    part.table[shown], texts.gather(shown), clusters[shown], places.result()
                )
        if self.transformations:
            tables["cluster_transformations"] = self._transformed(
                part, texts, labelled, scores[0], requested, tokens, language
            )
        about = clusters_of_examples(part, clusters)
        if dynamics is not None:
            diverging = about.join(table.select("cluster", "divergence_l2"), on="cluster")
            tables["cluster_confidence"] = confidence_histogram(diverging, dynamics)
        findings = cluster_findings(part, table, examples, summary, scope=self.scope, alpha=self.alpha)
        settled = {**{name: summary[name] for name in ("k", "tokens", "null")}, "language": language}
        return Result(
            summary, tables, findings, about, cluster_measures(summary), settled, summary["p_value"]
        )

    @property
    def _smallest(self) -> int:
        """How many sentences a cluster must have to be left alone."""
        return LEAST_SENTENCES if self.merge else 0

    def _part(self, data: Instances) -> tuple[Instances, Floats | None]:
        name = self.split or ("test" if "test" in data.splits else "train")
        if name not in data.splits:
            raise Skip(f"there is no {name} split; the splits are {', '.join(data.splits)}")
        weights = unequal_weights(data, self.weights)
        part = data.split(name)
        if weights is not None:
            weights = weights[(data.table["split"].cast(pl.String) == name).to_numpy()]
            part = part.rows(weights > 0)
            weights = weights[weights > 0]
            weights = None if (weights == weights[0]).all() else weights
        present = np.unique(part.label_codes)
        if len(present) < 2:
            raise Skip(f"needs at least two labels; all {name} instances have the same one")
        return part, weights

    def _k(self, n: int, distinct: int) -> tuple[int, str]:
        if distinct < LEAST_TEXTS:
            raise Skip(f"needs at least {LEAST_TEXTS} distinct texts, found {distinct}")
        if self.k is None:
            k, why = default_k(n)
            return (
                (k, why)
                if k <= distinct // 2
                else (distinct // 2, f"{distinct // 2}, half the number of distinct texts")
            )
        if self.k > distinct:
            raise Skip(f"needs at least {self.k} distinct texts for k = {self.k}, found {distinct}")
        return self.k, f"{self.k}, as set by k"

    def _summary(
        self,
        part: Instances,
        table: pl.DataFrame,
        scores: list[PecoStarts],
        why_k: str,
        components: int,
        distinct: int,
        tokens: str,
    ) -> Summary:
        exact = scores[0]
        leaning = notable(table)
        return {
            "components": components,
            **{f"peco_{row.mode}_{row.divergence}": row.score for row in scores},
            "null_mean": exact.null_mean,
            "null_low": exact.null_low,
            "null_high": exact.null_high,
            "excess": exact.excess,
            "excess_low": exact.low,
            "excess_high": exact.high,
            "p_value": exact.p_value,
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

    def _transformed(
        self,
        part: Instances,
        texts: pl.Series,
        labelled: Labelled,
        original: PecoStarts,
        k: int,
        tokens: str,
        language: str,
    ) -> pl.DataFrame:
        scores = [original]
        for name in self.transformations:
            changed = transformed(texts, name, language=language, seed=self.seed)
            vectors, codes = embed(
                changed, self.embed, tokens=tokens, seed=self.seed, data=as_read(part, self.scope, changed)
            )
            weights = np.bincount(codes, minlength=len(vectors)).astype(np.int64)
            points = principal_components(vectors, weights, self.components)
            few = min(k, len(np.unique(points, axis=0)))
            starts = self._clusterings(points, weights, codes, few)
            scores += over_starts(labelled, starts, wanted=SCORES[:1])
        names = pl.Series("transformation", ["original", *self.transformations])
        table = score_table(scores).drop("divergence", "mode").rename({"score": "peco_exact_l2"})
        return table.insert_column(0, names)

    def _clusterings(self, points: Singles, weights: Ints, codes: Ints, k: int) -> list[Clustering]:
        """Return the clusterings of all instances, the tightest first: that is the one shown."""
        starts = clusterings(
            points, weights, k, starts=self.restarts, seed=self.seed, smallest=self._smallest
        )
        return [clustering.of_instances(codes) for clustering in starts]
