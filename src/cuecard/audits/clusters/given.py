"""PECO of clusters that somebody else made, with a map from their coordinates (PECO, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.audits.clusters.clustering import Clustering
from cuecard.audits.clusters.scores import PRINTED, SCORES, Labelled, over_starts, score_table
from cuecard.audits.clusters.table import characteristic_words, cluster_table
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.limits import check_seed
from cuecard.text import tokenise

MAP_TEXT_LENGTH = 160


@dataclass(frozen=True, eq=False)
class GivenClusters:
    """The scores of a clustering, its clusters, and where its points lie."""

    labels: tuple[str, ...]
    scores: pl.DataFrame
    """Every score with its null mean, excess, interval and p-value."""
    clusters: pl.DataFrame
    """One row per cluster, as in the audit's table; `name` is the id in the input."""
    map: pl.DataFrame | None
    """Points with x, y, cluster, label and text, if the input has coordinates."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables under the names that the charts of the audit know."""
        return {"clusters": self.clusters} | ({} if self.map is None else {"cluster_map": self.map})


def given_clusters(
    table: pl.DataFrame,
    *,
    label_names: Mapping[str, str] | None = None,
    permutations: int = 200,
    alpha: float = 0.05,
    seed: int = 0,
) -> GivenClusters:
    """Return the calibrated PECO of a clustering, and its map.

    Args:
        table: one row per sentence with the columns `label` and `cluster`; `x` and `y` place it on the map, and
            `text` names clusters by their words and shows when a point is hovered.
        label_names: names for label values.
        permutations: shuffles of the labels.
        alpha: a cluster is significant if its q-value is at most this.
        seed: seed of the shuffles.
    """
    check_seed(seed)
    missing = [name for name in ("label", "cluster") if name not in table.columns]
    if missing:
        raise InputError(f"A clustering needs the columns label and cluster; missing: {', '.join(missing)}.")
    if table.is_empty() or table.select(pl.col("label", "cluster").is_null().any()).row(0) != (False, False):
        raise InputError("A clustering needs a label and a cluster in every row; some are missing.")
    names = dict(label_names or {})
    label_values = table["label"].cast(pl.String).replace(list(names), list(names.values()))
    labels = tuple(label_values.unique().sort())
    if len(labels) < 2 or table["cluster"].n_unique() < 2:
        raise InputError("A clustering needs at least two labels and two clusters.")
    ids, codes = np.unique(table["cluster"].cast(pl.String).to_numpy().astype(str), return_inverse=True)
    codes = codes.astype(np.int64)
    texts = _column(table, "text", "").cast(pl.String).fill_null("")
    rows = pl.int_range(table.height, eager=True).cast(pl.String)
    data = Instances(
        pl.DataFrame(
            {
                "example_id": rows,
                "position": pl.zeros(table.height, pl.Int32, eager=True),
                "split": pl.repeat("train", table.height, eager=True),
                "premise": pl.repeat("", table.height, eager=True),
                "hypothesis": texts,
                "label": label_values.cast(pl.Enum(labels)),
            }
        ),
        "pair",
        labels,
    )
    words = characteristic_words(tokenise(texts), codes, len(ids)) if "text" in table.columns else None
    cluster_words = [
        distinctive or [str(name)] for name, distinctive in zip(ids, words or [[]] * len(ids), strict=True)
    ]
    clusters = cluster_table(data, codes, cluster_words, alpha=alpha)
    clusters = clusters.with_columns(name=pl.Series(ids).gather(clusters["cluster"]))
    distances = np.zeros(table.height, dtype=np.float32)
    labelled = Labelled(data.label_codes, None, permutations, seed)
    scores = score_table(
        over_starts(labelled, [Clustering(codes, distances, 0.0)], wanted=[*SCORES, PRINTED])
    )
    placed = None
    if {"x", "y"} <= set(table.columns):
        placed = pl.DataFrame(
            {
                "example_id": rows,
                "x": table["x"].cast(pl.Float64),
                "y": table["y"].cast(pl.Float64),
                "cluster": codes,
                "label": label_values,
                "text": texts.str.slice(0, MAP_TEXT_LENGTH),
            }
        )
        if not placed.select(pl.col("x", "y").is_finite().all()).to_numpy().all() or placed["x"].null_count():
            raise InputError("The coordinates x and y must be numbers in every row.")
    return GivenClusters(labels, scores, clusters, placed)


def _column(table: pl.DataFrame, name: str, otherwise: str) -> pl.Series:
    return table[name] if name in table.columns else pl.repeat(otherwise, table.height, eager=True)
