"""The worked example "An audit in one file" is added to CueCard as the page says: one file and one line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
USE = """
import cuecard as cc
from cuecard.audits import AUDITS
from cuecard.report import render_html

AUDITS.declare("last_character", "last_character:LastCharacter")
card = cc.audit("train.parquet", test="test.parquet", only=["last_character"])
section = card["last_character"]
assert section.status == "done", section.reason
measure = card.measure("last_character.usual_label.accuracy")
assert measure.low > measure.chance
assert [finding.id for finding in card.findings] == ["last_character/usual_label"]
assert "last-character accuracy" in render_html(card)
assert section.chart("usual_label_by_last_character").to_dict()["layer"]
card.save("out")
assert set(section.table["character"]) == {".", "!"}
print("added")
"""


def _example() -> str:
    """Return the file of the example: its block, without the decorator and without its use at the end."""
    text = PAGE.read_text(encoding="utf-8")
    block = re.search(r"## An audit in one file.*?```python\n(.*?)```", text, re.DOTALL)
    assert block is not None
    module, use = block[1].split("\n\n\ncard = ")
    assert "last_character" in use
    return module.replace('@AUDITS.register("last_character")\n', "")


def test_the_file_of_the_example_and_one_line_add_an_audit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for split, n in (("train", 300), ("test", 200)):
        labels = rng.integers(0, 2, n)
        loud = np.where(rng.random(n) < 0.9, labels, 1 - labels)
        rows = {
            "text": [f"w{rng.integers(50)} w{rng.integers(50)}{'!' if end else '.'}" for end in loud],
            "label": ["yes" if label else "no" for label in labels],
        }
        pl.DataFrame(rows).write_parquet(tmp_path / f"{split}.parquet")
    (tmp_path / "last_character.py").write_text(_example(), encoding="utf-8")
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "added", done.stderr
