"""Clusters that somebody else made: the published ones come out as published, coordinates become a map."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.audits.clusters.external_clusters import external_clusters
from cuecard.errors import InputError
from cuecard.report.charts.cluster_map import draw_point_map
from cuecard_papers.peco import point_map, write_cluster_map


def small() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 4, 200)
    label = np.where(cluster == 2, 1, rng.integers(0, 2, 200))
    return pl.DataFrame(
        {
            "label": label,
            "cluster": [f"c{i}" for i in cluster],
            "x": rng.normal(cluster, 0.2),
            "y": rng.normal(size=200),
            "text": [f"topic{i} thing" for i in cluster],
        }
    )


def test_a_clustering_is_scored_named_and_placed() -> None:
    given = external_clusters(small(), label_names={"0": "no", "1": "yes"})
    assert given.labels == ("no", "yes")
    exact = given.scores.row(0, named=True)
    assert exact["p_value"] <= 0.01
    assert exact["low"] > 0
    top = given.clusters.row(0, named=True)
    assert (top["name"], top["label"], top["share"]) == ("c2", "yes", 1.0)
    assert "topic2" in top["words"]
    assert given.map is not None
    assert given.map.height == 200


def test_without_coordinates_or_texts_there_are_scores_alone(tmp_path: Path) -> None:
    given = external_clusters(small().select("label", "cluster"))
    assert given.map is None
    assert given.clusters["words"].sort().to_list() == ["c0", "c1", "c2", "c3"]
    with pytest.raises(InputError, match="columns x and y"):
        write_cluster_map(given, tmp_path / "map.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (small().drop("cluster"), "missing: cluster"),
        (small().with_columns(label=pl.lit(None)), "some are missing"),
        (small().with_columns(label=pl.lit("a")), "at least two labels"),
        (small().with_columns(x=pl.lit(float("nan"))), "must be numbers"),
        (small().clear(), "some are missing"),
    ],
)
def test_a_table_that_is_no_clustering_is_refused(table: pl.DataFrame, message: str) -> None:
    with pytest.raises(InputError, match=message):
        external_clusters(table)


def test_figure_1_is_drawn_from_the_published_coordinates(
    oracle: Callable[[str], Path], tmp_path: Path
) -> None:
    points = pl.read_csv(oracle("peco/tsne_50_l2.csv")).rename({"clid": "cluster"})
    given = external_clusters(points)
    scores = {(row["divergence"], row["mode"]): row for row in given.scores.iter_rows(named=True)}
    assert scores["l2", "released"]["score"] == pytest.approx(13.7, abs=0.05)
    assert scores["kl", "released"]["score"] == pytest.approx(9.8, abs=0.05)
    assert scores["l2", "exact"]["score"] == pytest.approx(10.675, abs=0.0005)
    published = points.group_by("cluster").agg(pl.col("pecol2").first()).sort("cluster")["pecol2"]
    ours = given.clusters.sort(pl.col("name").cast(pl.Int64))["divergence_l2"]
    np.testing.assert_allclose(ours.to_numpy(), published.to_numpy(), atol=1e-12)
    spec = draw_point_map(point_map(given, "SNLI")).to_dict()
    drawn = [row for rows in spec["datasets"].values() for row in rows] if "datasets" in spec else []
    drawn += [row for layer in spec["layer"] for row in layer.get("data", {}).get("values", [])]
    places = {(row["x"], row["y"]) for row in drawn if "text" in row and "cluster" in row}
    assert places == {(round(x, 2), round(y, 2)) for x, y in points.select("x", "y").iter_rows()}
    picture = write_cluster_map(given, tmp_path / "figure1.png", title="SNLI")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 100_000
