from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "plugin_package"

AUDIT = """
import sys
sys.path.insert(0, {target!r})
import polars as pl, cuecard as cc
rows = [("A man is sleeping." if i % 2 else "A man sleeps", "yes" if i % 2 else "no") for i in range(80)]
columns = {{"premise": ["p"] * 80, "hypothesis": [r[0] for r in rows], "label": [r[1] for r in rows]}}
data = cc.load(pl.DataFrame(columns))
table = cc.audit(data, only=["cues"])["cues"].table
print(table.filter(pl.col("family") == "rhyme").select("feature", "label", "train_count").row(0))
"""


def test_a_family_of_an_installed_package_is_audited_without_any_change_here(tmp_path):
    target = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        target,
    ]
    subprocess.run([*map(str, install), str(PACKAGE)], check=True, capture_output=True)
    ran = subprocess.run(
        [sys.executable, "-c", AUDIT.format(target=str(target))], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "('-ing', 'yes', 40)"
