"""Small datasets to predict, and a simulated model on the generated set."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import cuecard as cc
from cuecard.data import Instances

LABELS = ("contradiction", "entailment", "neutral")


@pytest.fixture
def pairs(tmp_path: Path) -> Instances:
    """Nine train pairs and six test pairs with ids a…f."""
    rows = [(f"p{i}", f"h{i}", LABELS[i % 3]) for i in range(15)]
    schema = ["premise", "hypothesis", "label"]
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        id=pl.Series(list("ABCDEFGHIabcdef"))
    )
    table[:9].write_csv(tmp_path / "train.csv")
    table[9:].write_csv(tmp_path / "test.csv")
    return cc.load(tmp_path / "train.csv", test=tmp_path / "test.csv")


@pytest.fixture
def numbered_pairs(tmp_path: Path) -> Instances:
    """The same without ids, and with a test row that has no label in the third place."""
    rows = [(f"p{i}", f"h{i}", LABELS[i % 3]) for i in range(15)]
    rows.insert(11, ("p", "h", "-"))
    schema = ["premise", "hypothesis", "label"]
    pl.DataFrame(rows[:9], schema=schema, orient="row").write_csv(tmp_path / "train.csv")
    pl.DataFrame(rows[9:], schema=schema, orient="row").write_csv(tmp_path / "test.csv")
    return cc.load(tmp_path / "train.csv", test=tmp_path / "test.csv")


@pytest.fixture
def questions() -> Instances:
    """Questions with four choices; the four of test have the answers 0, 1, 2, 3."""
    rows = [
        {"id": f"q{i}", "question": f"why {i}?", "choices": [f"c{i}{k}" for k in range(4)], "answer": i % 4}
        for i in range(8)
    ]
    return cc.load(rows[:4], test=rows[4:])
