"""A generated set as the files a user would have."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import polars as pl

from cuecard.data.demo.cues import Demo
from cuecard.writing import Write, write_together


def write_demo(demo: Demo, folder: str | Path) -> dict[str, Path]:
    """Write train.parquet, test.parquet and truth.json into a folder and return their paths by name."""
    files = demo_files(demo)
    write_together(Path(folder), files)
    return {Path(name).stem: Path(folder) / name for name in files}


def demo_files(demo: Demo) -> dict[str, Write]:
    """Return what writes each of the files of a generated set, by their names."""
    files: dict[str, Write] = {}
    for split in demo.instances.splits:
        table = demo.instances.split(split).table.with_columns(pl.col("label").cast(pl.String))
        files[f"{split}.parquet"] = (
            _questions(table) if demo.instances.grouped else _pairs(table)
        ).write_parquet
    truth = {"clean": demo.clean, "planted": [asdict(cue) for cue in demo.truth]}
    text = json.dumps(truth, indent=2, ensure_ascii=False) + "\n"
    files["truth.json"] = lambda file: file.write_text(text, encoding="utf-8")
    return files


def _pairs(table: pl.DataFrame) -> pl.DataFrame:
    return table.select("premise", "hypothesis", "label", id="example_id")


def _questions(table: pl.DataFrame) -> pl.DataFrame:
    return (
        table.group_by("example_id", maintain_order=True)
        .agg(
            question=pl.col("premise").first(),
            choices=pl.col("hypothesis"),
            answer=pl.col("position").filter(pl.col("label") == "right").first(),
        )
        .rename({"example_id": "id"})
    )
