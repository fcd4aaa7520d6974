"""Clusterings and training dynamics that other programs made of the same sentences (PECO, Figures 1 and 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from cuecard.audits.clusters.clustering import Clustering
from cuecard.audits.clusters.scores import PRINTED, SCORES, Labelled, over_starts, score_table
from cuecard.audits.clusters.table import characteristic_words, cluster_table
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.limits import check_seed
from cuecard.stats.clusters.peco import PLAIN
from cuecard.text import tokenise

MAP_TEXT_LENGTH = 160


@dataclass(frozen=True, eq=False)
class ExternalClusters:
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


def external_clusters(
    table: pl.DataFrame,
    *,
    label_names: Mapping[str, str] | None = None,
    permutations: int = 200,
    alpha: float = 0.05,
    seed: int = 0,
) -> ExternalClusters:
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
    labelled = Labelled(data.label_codes, PLAIN, permutations, seed)
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
    return ExternalClusters(labels, scores, clusters, placed)


def _column(table: pl.DataFrame, name: str, otherwise: str) -> pl.Series:
    return table[name] if name in table.columns else pl.repeat(otherwise, table.height, eager=True)


READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".jsonl": pl.read_ndjson,
}


def read_table(path: str | Path, needed: Sequence[str], what: str, *, hint: str = "") -> pl.DataFrame:
    """Return the table in a file, which must have the needed columns.

    `what` names the table in messages, and `hint` says what to type where columns are missing.
    """
    file = Path(path)
    if file.suffix not in READERS:
        raise InputError(f"{path}: cannot read {what} from this kind of file; expected {', '.join(READERS)}.")
    if not file.is_file():
        raise InputError(f"{path}: this file does not exist; expected a file of {what}.")
    try:
        table = READERS[file.suffix](file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read as {what} ({error}).") from None
    if not set(needed) <= set(table.columns):
        raise InputError(
            f"{path}: {what} need the columns {' and '.join(needed)}; found {', '.join(table.columns)}.{hint}"
        )
    return table


#: A cluster counts as biased above this divergence, as in the paper.
BIASED = 0.25
BINS = 20


def read_dynamics(path: str, split: str | None = None) -> pl.DataFrame:
    """Return the table of training dynamics in a file: at least example_id and confidence.

    Where the table has the column split, rows of other splits are left out: their examples may have the same ids.
    """
    table = read_table(path, ("example_id", "confidence"), "training dynamics")
    if split is None or "split" not in table.columns:
        return table
    of_split = table.filter(pl.col("split").cast(pl.String) == split)
    if of_split.is_empty():
        splits = ", ".join(table["split"].cast(pl.String).drop_nulls().unique().sort()) or "none"
        raise InputError(
            f"{path}: the training dynamics cover the splits {splits}, but the clusters are of {split}; choose another "
            "split with --set clusters.split=NAME."
        )
    return of_split


def confidence_histogram(clusters: pl.DataFrame, dynamics: pl.DataFrame) -> pl.DataFrame:
    """Return how many examples inside and outside biased clusters have each confidence.

    Args:
        clusters: example_id and divergence_l2 (of the example's cluster).
        dynamics: example_id and confidence (mean probability of the gold label over training), between 0 and 1.
    """
    key = pl.col("example_id").cast(pl.String)
    joined = clusters.with_columns(key).join(dynamics.with_columns(key), on="example_id", how="inner")
    if joined.is_empty():
        raise InputError("No example_id of the training dynamics occurs among the clustered examples.")
    confidence = joined["confidence"].to_numpy()
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise InputError(
            "The confidence in training dynamics must be a probability from 0 to 1; some values are not."
        )
    biased = (joined["divergence_l2"] > BIASED).to_numpy()
    edges = np.linspace(0, 1, BINS + 1)
    inside, outside = (np.histogram(confidence[where], edges)[0] for where in (biased, ~biased))
    return pl.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "biased": inside,
            "other": outside,
            "biased_share": inside / max(1, inside.sum()),
            "other_share": outside / max(1, outside.sum()),
        }
    )
