from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl

PACKAGE = Path(__file__).parents[1] / "plugin_package"


def test_a_model_of_an_installed_package_is_trained_and_probed_without_any_change_here(tmp_path):
    target = tmp_path / "site"
    install = (sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target")
    subprocess.run([*install, str(target), str(PACKAGE)], check=True, capture_output=True)
    rows = [("A man is sleeping." if i % 2 else "A man sleeps", "yes" if i % 2 else "no") for i in range(80)]
    columns = {"premise": ["p"] * 80, "hypothesis": [r[0] for r in rows], "label": [r[1] for r in rows]}
    for split in ("train", "test"):
        pl.DataFrame(columns).write_parquet(tmp_path / f"{split}.parquet")
    path = os.pathsep.join([str(target), os.environ.get("PYTHONPATH", "")])
    files = ("train.parquet", "--test", "test.parquet")

    def cuecard(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cuecard", *arguments],
            capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip

    trained = cuecard(
        "train", *files, "--model", "rhyme-model", "--set", "smoothing=2", "--out", "run", "--json"
    )
    assert trained.returncode == 0, trained.stderr
    assert json.loads(trained.stdout)["splits"]["test"]["accuracy"] == 1.0
    probed = cuecard(
        "probe", *files, "--model", "run", "--cues", "sleeping", "--only", "accuracy_test", "--json"
    )
    assert probed.returncode == 0, probed.stderr
    assert json.loads(probed.stdout)["sections"]["accuracy_test"]["status"] == "done"
