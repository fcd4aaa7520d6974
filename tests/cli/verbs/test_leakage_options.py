"""The pair graph on the command line: identical pairs written and read back, weights, and --set."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return pairs in which duplicates repeat sentences, with predictions that follow the repetition."""
    folder = tmp_path_factory.mktemp("pairs")
    rng = np.random.default_rng(0)
    n = 1200
    label = rng.integers(0, 2, n)
    repeated = rng.random(n) < np.where(label == 1, 0.8, 0.3)
    rows = pl.DataFrame(
        {
            "id": [f"x{i}" for i in range(n)],
            "sentence1": [f"question {i} about things" for i in range(n)],
            "sentence2": [
                f"topic {rng.integers(0, 40)}" if r else f"other {i}" for i, r in enumerate(repeated)
            ],
            "label": np.where(label == 1, "duplicate", "not_duplicate"),
            "weight": np.where(label == repeated, 0.6, 2.2),
        }
    )
    rows.head(600).write_csv(folder / "train.csv")
    rows.tail(600).write_csv(folder / "test.csv")
    follower = np.where(repeated, "duplicate", "not_duplicate")[600:]
    rows.tail(600).select("id", prediction=pl.Series(follower)).write_csv(folder / "follower.csv")
    return folder


def probe(cuecard, files, *more):
    return cuecard(
        "probe", files / "train.csv", "--test", files / "test.csv", "--features", "word",
        "-p", files / "follower.csv", *more,
    )  # fmt: skip


def test_probing_pairs_evaluates_models_without_the_leak(cuecard, files, tmp_path):
    ran = probe(cuecard, files, "--out", tmp_path / "out", "--verbose")
    assert ran.code == 0, ran.err
    assert "reweighted" in ran.out
    assert "The weights are estimated from only 600 test examples" in ran.out.replace("\n", " ")
    table = pl.read_parquet(tmp_path / "out" / "tables" / "debiased_evaluation.parquet")
    assert table["model"].to_list() == ["majority", "pair graph alone", "follower"]
    assert table["change_high"][2] < -0.05
    assert "Accuracy with and without the leak" in (tmp_path / "out" / "report.html").read_text()


def test_weights_of_a_column_and_parameters_reach_the_evaluation(cuecard, files):
    ran = probe(cuecard, files, "--test-weights", "weight", "--only", "debiased_evaluation", "--json")
    sections = json.loads(ran.out)["sections"]
    assert list(sections) == ["debiased_evaluation"]  # no cues where none of the probes is about them
    section = sections["debiased_evaluation"]
    assert section["summary"]["weights"] == "weight"
    ran = probe(
        cuecard, files, "--set", "debiased_evaluation.max_weight=none", "--set", "debiased_evaluation.trees=50",
        "--only", "debiased_evaluation", "--json",
    )  # fmt: skip
    parameters = json.loads(ran.out)["sections"]["debiased_evaluation"]["parameters"]
    assert (parameters["max_weight"], parameters["trees"]) == (None, 50)


def test_identical_pairs_are_written_scored_and_read_back(cuecard, files, tmp_path):
    pairs = tmp_path / "pairs.csv"
    ran = cuecard(
        "stress", files / "train.csv", "--kind", "identical-pairs", "--sample", "300", "--out", pairs
    )
    assert ran.code == 0, ran.err
    assert "300 sentences paired with themselves" in ran.out
    assert "--match" not in ran.out
    named = cuecard(
        "stress",
        files / "train.csv",
        "--kind",
        "identical-pairs",
        "--match",
        "not_duplicate",
        "--out",
        tmp_path / "other.csv",
    )
    assert "NAME=SCORES.csv --match not_duplicate" in named.out
    written = pl.read_csv(pairs)
    assert written.columns == ["example_id", "premise", "hypothesis", "frequency", "label"]
    assert set(written["label"]) == {"duplicate"}
    written.select("example_id", score=0.5 + 0.02 * pl.col("frequency")).write_csv(tmp_path / "biased.csv")
    ran = cuecard(
        "probe", files / "train.csv", "--identical-pairs", tmp_path / "biased.csv", "--identical-pairs", "linear",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "biased scores identical pairs of frequent sentences higher" in ran.out
    boxes = pl.read_parquet(tmp_path / "out" / "tables" / "identical_pairs.parquet")
    assert boxes["model"].unique(maintain_order=True).to_list() == ["biased", "linear"]
    assert "Score by sentence frequency" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["stress", "{train}", "--out", "{out}/x", "--sample", "5"], "--sample and --match only apply to"),
        (
            ["stress", "{train}", "--kind", "identical-pairs", "--out", "{out}/x.docx"],
            ".parquet, .csv, .tsv or .jsonl",
        ),
        (["stress", "{train}", "--kind", "identical-pairs", "--out", "{train}"], "is an input file"),
        (
            ["stress", "{train}", "--kind", "identical-pairs", "--match", "dup", "--out", "{out}/x.csv"],
            "'duplicate'",
        ),
        (
            [
                "debias",
                "{train}",
                "--method",
                "neutral",
                "--max-weight",
                "0.5",
                "--weight-column",
                "w",
                "--out",
                "{out}/x.csv",
            ],
            "max_weight must be above 1, the mean of all weights, and is 0.5",
        ),
        (["probe", "{train}", "--identical-pairs", "none.csv"], "none.csv does not exist"),
        (["probe", "{train}", "--identical-pairs", "linear", "--match", "same"], "Unknown label 'same'"),
        (["audit", "{train}", "--set", "pair_graph.forest"], "SECTION.PARAMETER=VALUE"),
        (["audit", "{train}", "--set", "pair_graph.folds=1"], "at least 2"),
        (["audit", "{train}", "--only", "cues", "--set", "pair_graph.folds=3"], "not selected to run"),
        (
            ["debias", "{train}", "--out", "{out}/x.csv", "--set", "neutral.trees=9"],
            "section in --set 'neutral'",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(cuecard, files, tmp_path, arguments, complaint):
    ran = cuecard(*(part.format(train=files / "train.csv", out=tmp_path) for part in arguments))
    assert ran.code == 2
    assert complaint in " ".join(ran.err.split())
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_set_reaches_audits_and_remedies(cuecard, files, tmp_path):
    ran = cuecard(
        "audit", files / "train.csv", "--test", files / "test.csv",
        "--only", "pair_graph,cues", "--features", "word", "--json",
        "--set", "pair_graph.forest=paper-small", "--set", "pair_graph.advanced=no",
        "--set", "pair_graph.unlexicalized=no", "--set", "cues.correction=by",
    )  # fmt: skip
    sections = json.loads(ran.out)["sections"]
    assert sections["pair_graph"]["summary"]["forest"] == {"name": "paper-small", "trees": 500, "depth": 5}
    assert sections["cues"]["parameters"]["correction"] == "by"
    ran = cuecard(
        "debias", files / "train.csv", "--method", "neutral", "--set", "neutral.folds=5", "--set", "neutral.trees=20",
        "--weight-column", "neutral", "--out", tmp_path / "weighted.csv", "--json",
    )  # fmt: skip
    assert json.loads(ran.out)["sections"]["neutral_weights"]["parameters"]["folds"] == 5
    assert pl.read_csv(tmp_path / "weighted.csv")["neutral"].mean() == pytest.approx(1)
