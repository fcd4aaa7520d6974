"""`cuecard plan` there and back: a worksheet is written, filled and applied."""

from __future__ import annotations

import json

import polars as pl
import pytest

from cuecard.data.demo import demo_nli, write_demo

GOAL = "partial_input.hypothesis_only.excess <= -0.2"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_demo(demo_nli(400, seed=2), tmp_path_factory.mktemp("data"))


def test_a_worksheet_is_written_and_applied(cuecard, data, tmp_path):
    sheet, new = tmp_path / "sheet.csv", tmp_path / "v2"
    where = (data["train"], "--test", data["test"])
    ran = cuecard("plan", *where, "--goal", GOAL, "--budget", 12, "--method", "z-filter", "--out", sheet)
    assert ran.code == 0, ran.err
    assert "Predicted" in ran.out
    assert "Verified" in ran.out
    assert "contradict a strong cue are kept" in " ".join(ran.out.split())
    rows = pl.read_csv(sheet, infer_schema=False)
    assert 0 < rows.filter(action="drop").height <= 12
    ran = cuecard("plan", *where, "--apply", sheet, "--out", new, "--json")
    assert ran.code == 0, ran.err
    before = sum(pl.read_parquet(data[split]).height for split in ("train", "test"))
    after = sum(pl.read_parquet(new / f"{split}.parquet").height for split in ("train", "test"))
    assert before - after == rows.filter(action="drop").height
    assert json.loads(ran.out)["dataset"]["splits"]["train"]["examples"] < before
    assert (new / "audit" / "card.json").exists()


def test_a_bad_worksheet_writes_nothing(cuecard, data, tmp_path):
    sheet, new = tmp_path / "sheet.csv", tmp_path / "v2"
    where = (data["train"], "--test", data["test"])
    cuecard("plan", *where, "--goal", GOAL, "--budget", 10, "--method", "random", "--out", sheet)
    rows = pl.read_csv(sheet, infer_schema=False)
    rows.with_columns(action=pl.lit("rewrite")).write_csv(sheet)
    ran = cuecard("plan", *where, "--apply", sheet, "--out", new)
    assert ran.code == 2
    assert "line 2: rewrite needs a new text" in ran.err
    assert not new.exists()


def test_one_goal_is_needed(cuecard, data, tmp_path):
    assert "Give one of" in cuecard("plan", data["train"], "--out", tmp_path / "a.csv").err
    assert "worksheet" in cuecard("plan", data["train"], "--goal", GOAL, "--out", tmp_path / "a.txt").err
