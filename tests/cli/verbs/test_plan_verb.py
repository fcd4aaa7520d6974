"""`cuecard plan` there and back: a worksheet is written, filled and applied."""

from __future__ import annotations

import json
import shlex

import polars as pl
import pytest

from cuecard.card import load_card, stale_report
from cuecard.data.demo import demo_nli, write_demo
from cuecard.errors import InputError

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


def test_a_new_version_is_written_with_its_card_or_not_at_all(cuecard, data, tmp_path, monkeypatch):
    sheet, new = tmp_path / "a sheet.csv", tmp_path / "v2"
    where = (data["train"], "--test", data["test"], "--name", "it's mine")
    planned = cuecard("plan", *where, "--goal", GOAL, "--budget", 3, "--method", "random", "--out", sheet)
    applying = planned.out.partition("Fill it, then: ")[2].strip()
    words = shlex.split(applying)
    assert words[:2] == ["cuecard", "plan"]
    assert words[-4:] == ["--apply", str(sheet), "--out", "NEW"]
    assert "it's mine" in words
    words[-1] = str(new)

    def stop(card):
        raise InputError("The report cannot be drawn.")

    with monkeypatch.context() as patch:
        patch.setattr("cuecard.report.render_html", stop)
        assert cuecard(*words[1:]).code == 2
    assert not new.exists()
    assert cuecard(*words[1:]).code == 0
    assert load_card(new / "audit").dataset.name == "it's mine"
    assert stale_report(new / "audit", load_card(new / "audit")) is None
    (new / "dev.parquet").write_bytes(b"of an earlier version")
    (new / "notes.txt").write_text("mine")
    assert cuecard(*words[1:]).code == 0
    assert sorted(p.name for p in new.iterdir()) == ["audit", "notes.txt", "test.parquet", "train.parquet"]


def test_one_goal_is_needed(cuecard, data, tmp_path):
    assert "Give one of" in cuecard("plan", data["train"], "--out", tmp_path / "a.csv").err
    assert "worksheet" in cuecard("plan", data["train"], "--goal", GOAL, "--out", tmp_path / "a.txt").err
