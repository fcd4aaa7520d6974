"""Real datasets whose labels say nothing: shuffled between distinct texts, so that copies keep one label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import cuecard as cc
from benchmarks.calibration.clean_sets import CleanSet
from cuecard.data import Instances

#: Files by task; each keeps its own licence, and none is part of this repository.
REAL = (
    "sick/train", "copa/dev", "sst2/train", "llmbar/test", "msrp/train", "arct/train", "anli/r1_dev",
    "openbookqa/train", "hh_rlhf_harmless_base/test", "vitaminc/bigbench_sample", "commonsenseqa/dev", "anli/r3_dev",
    "sst2/dev", "auto_j_pairwise/test", "fever_symmetric/dev", "race/test_middle", "mnli/dev_matched",
    "balanced_copa/dev_all", "caugnli/original_train", "snli/dev", "arct_adversarial/dev_adv_negated", "quora/dev",
    "arc_challenge/train",
)  # fmt: skip
#: Consecutive rows that are read, so that copies beside each other stay together.
MOST_ROWS = 800


def block_shuffled(data: Instances, *, seed: int) -> Instances:
    """Return the data with labels that say nothing; examples with the same hypothesis or choices have the same one.

    A pair or text gets the label of one example of another distinct hypothesis. Of choices, one at random is right,
    the same wherever the same choices occur.
    """
    rng = np.random.default_rng(seed)
    table = data.table
    if data.grouped:
        key = pl.col("hypothesis").sort().str.join("\n").over("example_id", "split")
        blocks = table.select(key.rank("dense"))["hypothesis"].to_numpy() - 1
        draw = rng.random(int(blocks.max()) + 1)[blocks]
        size = table.select(pl.len().over("example_id", "split"))["len"].to_numpy()
        place = table.select(pl.col("hypothesis").rank("ordinal").over("example_id", "split"))["hypothesis"]
        codes = np.where(place.to_numpy() - 1 == np.floor(draw * size), 0, 1)
    else:
        blocks = table["hypothesis"].rank("dense").to_numpy() - 1
        mixed = rng.permutation(len(blocks))
        one_of_each = mixed[np.unique(blocks[mixed], return_index=True)[1]]
        codes = rng.permutation(data.label_codes[one_of_each])[blocks]
    labels = pl.Series("label", [data.labels[code] for code in codes], dtype=pl.Enum(data.labels))
    return replace(data, table=table.with_columns(labels))


def shuffled_sets(folder: Path, count: int, *, seed: int = 0) -> Iterator[CleanSet]:
    """Yield block-shuffled parts of real datasets, going round the files that exist."""
    files = [path for name in REAL if (path := folder / f"{name}.parquet").exists()]
    for i in range(count if files else 0):
        path, rng = files[i % len(files)], np.random.default_rng([seed, i])
        frame = pl.read_parquet(path)
        start = int(rng.integers(0, max(1, frame.height - MOST_ROWS + 1)))
        part = frame[start : start + MOST_ROWS]
        if "label" in part.columns and part["label"].n_unique() < 2:  # sorted by label
            part = frame[np.sort(rng.choice(frame.height, MOST_ROWS, replace=False))]
        data = block_shuffled(cc.load(part), seed=seed + i)
        yield CleanSet(data.task, f"{path.parent.name}, labels shuffled", data.n_examples, data)
