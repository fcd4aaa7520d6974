from __future__ import annotations

import polars as pl

from cuecard.remedies import stress_set
from cuecard.report import stress_lines
from small_sets import pair_instances


def lines(*splits: str) -> list[str]:
    rows = [(split, f"p{i}", f"h{i}", "ab"[i % 2]) for split in splits for i in range(6)]
    data = pair_instances(rows)
    solved = [1.0 if i % 3 == 0 else 0.0 for i in range(data.table.height)]
    keys = data.table.select("example_id", pl.col("split").cast(pl.String))
    return list(stress_lines(stress_set(data, keys.with_columns(solved_hypothesis_only=pl.Series(solved)))))


def test_the_first_line_says_how_many_are_hard_and_the_last_what_easy_means():
    first, *_, last = lines("train")
    assert first == "4 of 6 examples are hard."
    assert "partial input (hypothesis-only)" in last


def test_a_split_is_named_only_where_there_are_several():
    assert not any("train" in line for line in lines("train"))
    assert lines("train", "test")[:2] == [
        "train: 4 of 6 examples are hard.",
        "test: 4 of 6 examples are hard.",
    ]
