"""What the cache holds is shown by kind, and deleted as a whole or by age."""

from __future__ import annotations

import json
import os

import pytest

from cuecard.writing import locked

ENTRY, NEW, OLD = "ab" * 16, "cd" * 16, "ef" * 16


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    (folder / "stream" / ENTRY / "survey").mkdir(parents=True)
    (folder / "stream" / ENTRY / "survey" / "rows").write_bytes(b"x" * 300)
    (folder / "models").mkdir()
    for name, age in ((NEW, 0), (OLD, 40)):
        file = folder / "models" / name
        file.write_bytes(b"y" * 100)
        written = file.stat().st_mtime - age * 86_400
        os.utime(file, (written, written))
    monkeypatch.setenv("CUECARD_CACHE", str(folder))
    return folder


def test_show_lists_kinds_with_entries_and_bytes(cuecard, cache):
    shown = json.loads(cuecard("tools", "cache", "show", "--json").out)
    assert shown["folder"] == str(cache)
    assert shown["kinds"] == [
        {"kind": "models", "entries": 2, "bytes": 200},
        {"kind": "stream", "entries": 1, "bytes": 300},
    ]
    assert "2 entries" in cuecard("tools", "cache", "show").out


def test_prune_deletes_what_is_old_and_clear_everything(cuecard, cache):
    assert json.loads(cuecard("tools", "cache", "prune", "--days", "30", "--json").out) == {
        "deleted": 1,
        "bytes": 100,
    }
    assert [file.name for file in (cache / "models").iterdir()] == [NEW]
    assert "Deleted 2 entries" in cuecard("tools", "cache", "clear").out
    assert not list((cache / "stream").iterdir())
    assert "It is empty" in cuecard("tools", "cache", "show").out


def test_what_another_audit_is_writing_stays(cuecard, cache):
    with locked(cache / "stream" / ENTRY):
        assert json.loads(cuecard("tools", "cache", "clear", "--json").out)["deleted"] == 2
    assert (cache / "stream" / ENTRY / "survey" / "rows").exists()


def test_an_empty_cache_says_so(cuecard, tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "none"))
    assert "It is empty" in cuecard("tools", "cache", "show").out
    assert cuecard("tools", "cache", "clear").code == 0


def test_files_that_are_not_ours_stay(cuecard, cache):
    mine = [
        cache / "letters" / "one.txt",
        cache / "models" / "my-model" / "weights",
        cache / "charts" / "plan.svg",
    ]
    for file in mine:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
    (cache / "models" / ".cuecard-1a2b3c4d.npz").write_text("staged by a run that was killed")
    assert json.loads(cuecard("tools", "cache", "clear", "--json").out)["deleted"] == 4
    assert all(file.exists() for file in mine)
    assert [one.name for one in (cache / "models").iterdir()] == ["my-model"]
