"""A generated set as the files a user would have."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import polars as pl

from cuecard.data.demo.cues import Demo


def write_demo(demo: Demo, folder: str | Path) -> dict[str, Path]:
    """Write train.parquet, test.parquet and truth.json into a folder and return their paths by name."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for split in demo.instances.splits:
        written[split] = folder / f"{split}.parquet"
        table = demo.instances.split(split).table.with_columns(pl.col("label").cast(pl.String))
        (_questions(table) if demo.instances.grouped else _pairs(table)).write_parquet(written[split])
    written["truth"] = folder / "truth.json"
    truth = {"clean": demo.clean, "planted": [asdict(cue) for cue in demo.truth]}
    written["truth"].write_text(json.dumps(truth, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return written


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
