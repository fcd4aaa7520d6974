"""Files appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuecard.errors import InputError
from cuecard.writing import write_json, write_text, write_together, write_whole


def test_a_file_is_replaced_at_once_and_has_the_usual_permissions(tmp_path: Path) -> None:
    file = tmp_path / "new" / "page.html"
    write_text(file, "old")
    write_text(file, "new")
    assert file.read_text() == "new"
    assert [path.name for path in file.parent.iterdir()] == ["page.html"]
    (tmp_path / "plain").touch()
    assert file.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_whatever_stops_a_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_text(file, "old")

    def interrupted(staged: Path) -> None:
        staged.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(file, interrupted)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/a.json cannot be written .*: choose another path"):
        write_json(tmp_path / "file" / "a.json", {})
    with pytest.raises(InputError, match=r"file cannot be written"):
        write_together(tmp_path / "file", {})


def test_several_files_are_written_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts(content: str) -> dict[str, object]:
        return {name: lambda file: file.write_text(content) for name in ("tables/a", "tables/b", "card")}

    write_together(tmp_path, {**texts("old"), "tables/stale": lambda file: file.write_text("old")})
    (tmp_path / "mine").write_text("mine")
    replace, moves = os.replace, []

    def fails_late(source: Path, target: Path) -> None:
        moves.append(target)
        if Path(target) == tmp_path / "card":
            monkeypatch.undo()
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fails_late)
    with pytest.raises(InputError, match="No space left"):
        write_together(tmp_path, texts("new"), stale=lambda _: ["tables/stale"])
    assert len(moves) > 4
    assert {path.read_text() for path in tmp_path.rglob("*") if path.is_file()} == {"old", "mine"}
    assert (tmp_path / "tables" / "stale").exists()
    write_together(tmp_path, texts("new"), stale=lambda _: ["tables/stale"])
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"a", "b", "card", "mine"}
    assert (tmp_path / "card").read_text() == "new"


def test_what_a_killed_run_has_left_is_removed_by_the_next_one(tmp_path):
    folder = tmp_path / "out"
    (folder / ".cuecard-writing-dead" / "new").mkdir(parents=True)
    (folder / ".cuecard-writing-probe").write_bytes(b"0")
    (tmp_path / ".out.cuecard-writing-dead").mkdir()
    write_together(folder, {"a": lambda file: file.write_text("new")})
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "a"]


def test_a_file_that_its_writer_did_not_write_is_an_error_and_not_silently_missing(tmp_path):
    with pytest.raises(InputError, match=r"new\.csv"):
        write_whole(tmp_path / "new.csv", lambda file: None)
    assert list(tmp_path.iterdir()) == []
