"""Frozen cards: a card is equal to itself made again, and what is changed in one is named."""

from __future__ import annotations

import json

import polars as pl
import pytest
from scripts.freeze_cards import chosen_cards, compare, make
from scripts.freezing.cards import FROZEN
from scripts.freezing.comparison import compare_folders
from scripts.freezing.inputs import FORMATS, SPLITS, TABLES


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Two folders with the same card, made twice."""
    for name in ("CUECARD_CACHE", "COLUMNS", "NO_COLOR", "CI"):
        monkeypatch.setenv(name, "")
    folders = tmp_path / "before", tmp_path / "after"
    assert [make(folder, "text-csv", 1) for folder in folders] == [0, 0]
    return folders


def test_a_card_made_twice_is_equal_and_every_change_is_named(made, capsys):
    before, after = made
    assert compare(before, after, "", 0.0) == 0
    assert capsys.readouterr().out == "text-csv: equal\nno card differs\n"
    card, table = (after / "cards" / "text-csv" / name for name in ("card.json", "tables/cues.parquet"))
    document = json.loads(card.read_text(encoding="utf-8"))
    document["dataset"]["task"] = "pair"
    document["provenance"]["created"] = "never"
    card.write_text(json.dumps(document), encoding="utf-8")
    frame = pl.read_parquet(table)
    second_row = pl.int_range(pl.len()) == 1
    frame.with_columns(pl.col("z") + pl.when(second_row).then(1e-7).otherwise(0.0)).write_parquet(table)
    places = [difference.place for difference in compare_folders(*(f / "cards" / "text-csv" for f in made))]
    assert places == ["card.json:dataset.task", "tables/cues.parquet:z"]
    assert compare(before, after, "", 1e-9) == 1
    assert "z: 1 of " in capsys.readouterr().out


def test_tables_of_other_columns_and_missing_files_differ(tmp_path):
    for name, frame in (
        ("a", pl.DataFrame({"x": [1.0]})),
        ("b", pl.DataFrame({"x": [1.0 + 1e-12], "y": [0]})),
    ):
        (tmp_path / name).mkdir()
        frame.write_parquet(tmp_path / name / "t.parquet")
    (tmp_path / "b" / "new.csv").write_text("x\n")
    found = compare_folders(tmp_path / "a", tmp_path / "b")
    assert [f.place for f in found] == ["new.csv", "t.parquet", "t.parquet:x"]
    assert found[-1].size == pytest.approx(1e-12, rel=0.1)


def test_there_are_cards_of_every_task_and_format_and_their_names_are_unique():
    names = [card.name for card in FROZEN]
    assert len(set(names)) == len(names) >= 40
    assert [card.name for card in chosen_cards("debias-l,explain")] == ["debias-lexical", "explain"]
    for task in ("pair", "choice", "preference", "text"):
        ending = {name.removeprefix(f"{task}-") for name in names if name.startswith(f"{task}-")}
        assert ending >= {"parquet", "csv", "jsonl", "folder", "weights", "cluster", "parts"}


@pytest.mark.parametrize("task", TABLES)
def test_generated_tables_are_the_same_each_time(task):
    assert TABLES[task](SPLITS[0]).equals(TABLES[task](SPLITS[0]))
    assert set(FORMATS) == {".parquet", ".csv", ".jsonl", ""}
