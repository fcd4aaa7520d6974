"""What the cache holds is shown by kind, and deleted as a whole or by age."""

from __future__ import annotations

import json
import os

import pytest

from cuecard.writing import locked


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    (folder / "stream" / "abc" / "survey").mkdir(parents=True)
    (folder / "stream" / "abc" / "survey" / "rows").write_bytes(b"x" * 300)
    (folder / "models").mkdir()
    for name, age in (("new", 0), ("old", 40)):
        file = folder / "models" / name
        file.write_bytes(b"y" * 100)
        written = file.stat().st_mtime - age * 86_400
        os.utime(file, (written, written))
    monkeypatch.setenv("CUECARD_CACHE", str(folder))
    return folder


def test_show_lists_kinds_with_entries_and_bytes(cuecard, cache):
    shown = json.loads(cuecard("cache", "show", "--json").out)
    assert shown["folder"] == str(cache)
    assert shown["kinds"] == [
        {"kind": "models", "entries": 2, "bytes": 200},
        {"kind": "stream", "entries": 1, "bytes": 300},
    ]
    assert "2 entries" in cuecard("cache", "show").out


def test_prune_deletes_what_is_old_and_clear_everything(cuecard, cache):
    assert json.loads(cuecard("cache", "prune", "--days", "30", "--json").out) == {"deleted": 1, "bytes": 100}
    assert [file.name for file in (cache / "models").iterdir()] == ["new"]
    assert "Deleted 2 entries" in cuecard("cache", "clear").out
    assert not list((cache / "stream").iterdir())
    assert "It is empty" not in cuecard("cache", "show").out  # the folders of both kinds are there


def test_what_another_audit_is_writing_stays(cuecard, cache):
    with locked(cache / "stream" / "abc"):
        assert json.loads(cuecard("cache", "clear", "--json").out)["deleted"] == 2
    assert (cache / "stream" / "abc" / "survey" / "rows").exists()


def test_an_empty_cache_says_so(cuecard, tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "none"))
    assert "It is empty" in cuecard("cache", "show").out
    assert cuecard("cache", "clear").code == 0
