"""An installed package adds an audit, a probe, a remedy and a view, with no change in this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

PACKAGE = Path(__file__).parents[1] / "plugin_package"


def rhyming(n: int, agreeing: float, seed: int) -> pl.DataFrame:
    """Pairs whose hypothesis ends in -ing mostly where the label is yes; the words carry nothing else."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    ends = np.where(rng.random(n) < agreeing, labels, 1 - labels)
    things = rng.integers(0, 400, (n, 2))
    texts = [
        f"w{a} z{b}{'ing' if end else 'ed'}."
        for (a, b), end in zip(things.tolist(), ends.tolist(), strict=True)
    ]
    return pl.DataFrame(
        {
            "premise": [f"p{i % 50}" for i in range(n)],
            "hypothesis": texts,
            "label": ["yes" if label else "no" for label in labels],
        }
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Install the package, write data of two versions and predictions, and return a runner of `cuecard` there."""
    folder = tmp_path_factory.mktemp("plugin")
    target = folder / "site"
    install = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target")
    subprocess.run([*install, str(target), str(PACKAGE)], check=True, capture_output=True)
    rhyming(300, 0.95, 0).write_parquet(folder / "v1.parquet")
    rhyming(300, 0.60, 1).write_parquet(folder / "v2.parquet")
    test = rhyming(120, 0.95, 2)
    test.write_parquet(folder / "test.parquet")
    guess = pl.when(pl.col("hypothesis").str.contains("ing")).then(pl.lit("yes")).otherwise(pl.lit("no"))
    test.select(prediction=guess).write_csv(folder / "echo.csv")
    path = os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])

    def cuecard(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "cuecard", *arguments],
            capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": path, "COLUMNS": "150"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.replace("\N{NO-BREAK SPACE}", " ").split())

    cuecard.folder = folder
    return cuecard


def test_its_audit_is_in_headline_terminal_page_and_comparison(run):
    audited = run("audit", "v1.parquet", "--only", "rhymes,overview", "--out", "a")
    accuracy = json.loads((run.folder / "a" / "card.json").read_text())["sections"]["rhymes"]["measures"][0]
    value = f"{100 * accuracy['value']:.1f} %"
    assert audited.startswith("v1 contains strong cues that predict the label: rhyme-only accuracy")
    assert f"rhyme-only accuracy {value}" in audited
    assert f"The rhyme speaks: {value} of 300." in audited
    page = (run.folder / "a" / "report.html").read_text(encoding="utf-8")
    assert "The rhyme speaks" in page
    assert "rhyme-only accuracy" in page
    run("audit", "v2.parquet", "--only", "rhymes,overview", "--out", "b", "--quiet")
    compared = run("compare", "a", "b")
    assert f"rhyme-only accuracy {value}" in compared


def test_its_probe_names_the_model_and_what_it_follows(run):
    probed = run(
        "probe",
        "v1.parquet",
        "--test",
        "test.parquet",
        "--predictions",
        "echo=echo.csv",
        "--only",
        "rhyme_probe",
    )
    assert probed.startswith("On v1, examples on which echo follows the rhyme: 100 % (chance 50.0 %).")
    assert "100 % examples on which echo follows the rhyme, chance 50.0 %" in probed


def test_its_remedy_writes_weights_and_says_what_they_cost(run):
    said = run("debias", "v1.parquet", "--method", "rhyme", "--out", "weighted.parquet")
    weights = pl.read_parquet(run.folder / "weighted.parquet")["weight"]
    size = weights.sum() ** 2 / (weights**2).sum() / len(weights)
    assert weights.mean() == pytest.approx(1)
    assert f"Weights for v1: the effective sample size is {100 * size:.1f} % of its examples." in said
