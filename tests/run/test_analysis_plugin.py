"""An installed package adds an audit with its view, a probe and a remedy, with no change in this repository."""

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
    v1 = rhyming(300, 0.95, 0)
    v1.write_parquet(folder / "v1.parquet")
    pl.concat([v1.head(200), rhyming(100, 0.30, 1)]).write_parquet(folder / "v2.parquet")
    test = rhyming(120, 0.95, 2)
    test.write_parquet(folder / "test.parquet")
    guess = pl.when(pl.col("hypothesis").str.contains("ing")).then(pl.lit("yes")).otherwise(pl.lit("no"))
    test.select(prediction=guess).write_csv(folder / "echo.csv")
    path = os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])

    def cuecard(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "cuecard", *arguments],
            capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": path, "COLUMNS": "150"},
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return " ".join(done.stdout.replace("\N{NO-BREAK SPACE}", " ").split())

    cuecard.folder = folder
    return cuecard


@pytest.fixture(scope="module")
def audited(run):
    """Audit both versions, and return what the first audit printed."""
    printed = run("audit", "v1.parquet", "--only", "rhymes,overview", "--out", "a")
    run("audit", "v2.parquet", "--only", "rhymes,overview", "--out", "b", "--quiet")
    return printed


def rhyme_accuracy(run, folder: str) -> float:
    sections = json.loads((run.folder / folder / "card.json").read_text())["sections"]
    return sections["rhymes"]["measures"][0]["value"]


def test_its_audit_is_in_headline_terminal_and_page(run, audited):
    value = f"{100 * rhyme_accuracy(run, 'a'):.1f} %"
    assert audited.startswith("v1 contains strong cues that predict the label: rhyme-only accuracy")
    assert f"rhyme-only accuracy {value}" in audited
    assert f"The rhyme speaks: {value} of 300." in audited
    page = (run.folder / "a" / "report.html").read_text(encoding="utf-8")
    assert "The rhyme speaks" in page
    assert "rhyme-only accuracy" in page
    assert "Label by ending" in page
    assert '"-ing"' in page  # a row of its chart


def test_versions_are_compared_by_its_measure_example_by_example_in_terminal_and_page(run, audited):
    compared = run("compare", "a", "b", "--page", "changes.html")
    value = f"{100 * rhyme_accuracy(run, 'a'):.1f} %"
    assert f"▼ better rhyme-only accuracy {value}" in compared
    assert "200 shared examples" in compared
    assert "rhyme-only accuracy" in (run.folder / "changes.html").read_text(encoding="utf-8")


def test_a_policy_judges_its_measure(run, audited):
    (run.folder / "strict.toml").write_text('[rules]\n"rhymes.rhyme_only.accuracy" = "<= 0.6"\n')
    checked = run("check", "a", "--policy", "strict.toml", code=1)
    assert "rhymes.rhyme_only.accuracy" in checked
    (run.folder / "loose.toml").write_text('[rules]\n"rhymes.rhyme_only.accuracy" = "<= 0.99"\n')
    run("check", "a", "--policy", "loose.toml")


def test_exports_state_its_finding_with_its_controls_and_caveat(run, audited):
    issue = run("export", "a", "--format", "issue", "--finding", "rhymes/rhyme_only")
    for part in ("rhyme-only accuracy", "majority accuracy beside rhymes", "Only endings in -ing count"):
        assert part in issue
    assert "Ties count" not in issue
    run("export", "a", "--format", "hf-card", "--out", "README.md")
    readme = (run.folder / "README.md").read_text(encoding="utf-8")
    assert '"rhymes.rhyme_only.accuracy"' in readme
    assert "Only endings in -ing count as rhymes. A result at chance does not show" in readme


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
