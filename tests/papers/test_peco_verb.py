"""`cuecard papers peco`, and the cluster options of `cuecard audit`."""

import json

import numpy as np
import polars as pl
import pytest

from cuecard.data import load


@pytest.fixture
def points(tmp_path):
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 3, 150)
    frame = pl.DataFrame(
        {
            "y_true": np.where(cluster == 0, 1, rng.integers(0, 2, 150)),
            "clid": cluster,
            "x": cluster,
            "y": cluster,
        }
    )
    frame.write_csv(tmp_path / "points.csv")
    return tmp_path / "points.csv"


def test_scores_are_printed_and_the_map_is_written(cuecard, points, tmp_path):
    chart = tmp_path / "out" / "map.html"
    done = cuecard(
        "papers",
        "peco",
        points,
        "--columns",
        "label=y_true,cluster=clid",
        "--labels",
        "0=no,1=yes",
        "--chart",
        chart,
    )
    assert done.code == 0
    assert "as released" in done.out
    assert done.out.rstrip().endswith("map.html")
    assert "significantly from the whole set" in done.out
    assert chart.read_text().count("threshold")


def test_json_holds_scores_and_clusters(cuecard, points):
    done = cuecard("papers", "peco", points, "--columns", "label=y_true,cluster=clid", "--json")
    found = json.loads(done.out)
    assert {(row["divergence"], row["mode"]) for row in found["scores"]} == {
        ("l2", "exact"), ("l2", "released"), ("kl", "exact"), ("kl", "released"), ("l2_mean", "exact"),
    }  # fmt: skip
    assert len(found["clusters"]) == 3


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--columns label=COLUMN,cluster=COLUMN"),
        (["--columns", "label=y_true,clusters=clid"], "Did you mean 'cluster'"),
        (["--columns", "label=y_true,cluster=clid", "--chart", "map.pdf"], ".html, .png or .svg"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_exit_code_2(cuecard, points, arguments, complaint):
    done = cuecard("papers", "peco", points, *arguments)
    assert done.code == 2
    assert complaint in done.err.replace("\n", " ")


def test_a_missing_file_is_said_to_be_missing(cuecard, tmp_path):
    done = cuecard("papers", "peco", tmp_path / "none.csv")
    assert done.code == 2
    assert "expected a file of clusters" in done.err.replace("\n", " ")


def test_dynamics_map_and_transformations_reach_the_clusters(cuecard, tmp_path):
    rng = np.random.default_rng(0)
    topics = ["sleep bed nap", "song stage guitar", "soup stove cook"]
    rows = [
        {
            "premise": f"premise {i}",
            "hypothesis": f"{topics[i % 3]} x{rng.integers(90)}",
            "label": "yes" if i % 3 == 0 else ("no", "yes")[int(rng.integers(2))],
        }
        for i in range(240)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "pairs.parquet")
    ids = load(tmp_path / "pairs.parquet").table["example_id"].to_list()
    # As a training run writes them, with an example of a split that is not audited.
    dynamics = pl.DataFrame(
        {
            "example_id": [*ids, "unseen"],
            "confidence": rng.random(241),
            "variability": rng.random(241) / 4,
            "correctness": rng.random(241),
        }
    )
    dynamics.write_parquet(tmp_path / "dynamics.parquet")
    arguments = ["--only", "clusters", "--map", "pca", "--map-size", "50", "--transform", "shuffled_words"]
    done = cuecard(
        "audit", tmp_path / "pairs.parquet", *arguments, "--dynamics", tmp_path / "dynamics.parquet", "--out",
        tmp_path / "out", "--quiet",
    )  # fmt: skip
    assert done.code == 0, done.err
    tables = {path.stem: pl.read_parquet(path) for path in (tmp_path / "out" / "tables").glob("*.parquet")}
    ours = json.loads((tmp_path / "out" / "card.json").read_text())["sections"]["clusters"]["summary"]
    assert ours["instances"] == 240
    confidence = tables["cluster_confidence"]
    assert confidence["biased"].sum() + confidence["other"].sum() == 240
    assert tables["cluster_map"].height == 50
    assert tables["cluster_transformations"]["transformation"].to_list() == ["original", "shuffled_words"]
