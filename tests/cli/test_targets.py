"""Places that cannot be written to are refused before any data is read, and nothing is written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

import cuecard.data
import cuecard.run.debiasing
from small_sets import pair_instances

ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(40)]

#: Every option that names a place to write to, as the rest of its command line.
TARGETS = {
    "audit": ["audit", "train.csv", "--out"],
    "probe": ["probe", "train.csv", "--test", "train.csv", "--model", "linear", "--out"],
    "debias": ["debias", "train.csv", "--out"],
    "debias --report": ["debias", "train.csv", "--out", "weighted.csv", "--report"],
    "overlap": ["overlap", "train.csv", "--with", "train.csv", "--out"],
    "stress": ["stress", "train.csv", "--out"],
    "stress --kind": ["stress", "train.csv", "--kind", "identical-pairs", "--out"],
    "train": ["train", "train.csv", "--out"],
    "correct": ["correct", "train.csv", "--test", "train.csv", "--predictions", "p.csv", "--out"],
    "ask": ["ask", "train.csv", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--out"],
    "stubborn": ["papers", "stubborn", "train.csv", "--out"],
    "selection": ["papers", "selection", "train.csv", "--out"],
    "paper": ["papers", "reproduce", "icq", "--data", "train.csv", "--out"],
    "peco": ["papers", "peco", "train.csv", "--chart"],
    "compare": ["compare", "card", "card", "--chart"],
    "board": ["board", "card", "--page"],
    "report": ["report", "card", "--out"],
    "demo": ["demo", "--out"],
    "check": ["check", "train.csv", "--out"],
    "check --ratchet": ["check", "train.csv", "--ratchet"],
    "export": ["export", "card", "--format", "badge", "--out"],
    "plan": ["plan", "train.csv", "--goal", "cues.cues == 0", "--out"],
    "plan --apply": ["plan", "train.csv", "--apply", "sheet.csv", "--out"],
    "check --init": ["check", "train.csv", "--init", "--policy"],
}
FILES = {
    **dict.fromkeys(["debias", "correct", "stress --kind", "ask", "plan"], ".csv"),
    **dict.fromkeys(
        ["peco", "compare", "board", "report", "export", "check", "check --ratchet", "check --init"], ".html"
    ),
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder with data and a card, where reading data fails the test."""

    def read(*arguments, **options):
        raise AssertionError("data was read")

    monkeypatch.chdir(tmp_path)
    pair_instances(ROWS).table.drop("split").write_csv("train.csv")
    monkeypatch.setattr(cuecard.data, "load", read)
    for name in ("__call__", "with_rows"):
        monkeypatch.setattr(cuecard.data.DatasetSpec, name, read)
    monkeypatch.setattr("cuecard.audits.clusters.external_clusters.read_table", read)
    monkeypatch.setattr("cuecard.card.load_card", read)
    monkeypatch.setattr("cuecard.data.demo.demo_nli", read)
    return tmp_path


def refused(cuecard, command: str, target: str) -> str:
    """Return the sentence that refuses a place; nothing may have been written."""
    before = everything()
    ran = cuecard(*TARGETS[command], target)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert ran.err.startswith("cuecard: ")
    assert ran.err.count("\n") == 1
    assert everything() == before
    return ran.err


def everything() -> dict[str, bytes | None]:
    """Return every file and folder of the working folder."""
    return {str(p): p.read_bytes() if p.is_file() else None for p in sorted(Path().rglob("*"))}


@pytest.mark.parametrize("command", TARGETS)
def test_a_place_below_a_file_is_refused(cuecard, command):
    Path("file").touch()
    message = refused(cuecard, command, f"file/out{FILES.get(command, '')}")
    assert "file" in message
    assert "cannot be" in message or "does not exist" in message


@pytest.mark.parametrize("command", TARGETS)
def test_a_file_in_the_place_of_a_folder_and_the_reverse_are_refused(cuecard, command):
    target = f"taken{FILES.get(command, '')}"
    if command in FILES:
        Path(target).mkdir()
        assert "is a folder" in refused(cuecard, command, target)
    else:
        Path(target).touch()
        assert "is a file" in refused(cuecard, command, target)


@pytest.mark.parametrize("command", TARGETS)
@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("~nobody-of-this-name/x", "home folder"),
        ("y" * 300, "too long|longer than"),
    ],
)
def test_what_is_no_path_is_refused(cuecard, command, target, complaint):
    ending = FILES.get(command, "") if target.strip() else ""
    message = refused(cuecard, command, target + ending)
    assert any(part in message for part in complaint.split("|")), message


@pytest.mark.parametrize(
    "command", [name for name in TARGETS if name not in ("demo", "compare", "board", "report", "export")]
)
def test_a_target_that_is_the_input_or_lies_in_it_is_refused(cuecard, command, monkeypatch):
    if command in FILES and command != "peco":
        assert "is an input file" in refused(cuecard, command, "train.csv")
        return
    Path("data").mkdir()
    Path("train.csv").rename("data/train.csv")
    folder = [part.replace("train.csv", "data") for part in TARGETS[command]]
    monkeypatch.setitem(
        TARGETS, command, folder if command != "peco" else [*folder[:2], "data/a.html", *folder[3:]]
    )
    if command == "peco":
        Path("data/a.html").touch()
        assert "is an input file" in refused(cuecard, command, "data/a.html")
    else:
        assert "lies in the input folder" in refused(cuecard, command, "data/out")


def test_a_report_that_would_replace_the_weighted_rows_is_refused(cuecard, monkeypatch):
    Path("out/tables").mkdir(parents=True)
    command = ["debias", "train.csv", "--out", "out/tables/cues.csv", "--report"]
    monkeypatch.setitem(TARGETS, "debias", command)
    assert "would be replaced" in refused(cuecard, "debias", "out")


@pytest.mark.parametrize("command", TARGETS)
def test_a_disk_without_space_or_permission_is_refused_before_data_is_read(cuecard, command, monkeypatch):
    target = f"new{FILES.get(command, '')}"
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS):

        def write(folder, size, number=number):
            raise OSError(number, os.strerror(number), str(folder))

        monkeypatch.setattr("cuecard.limits.try_writing", write)
        assert f"cannot be written ({os.strerror(number)})" in refused(cuecard, command, target)


@pytest.mark.parametrize("command", TARGETS)
def test_links_in_a_circle_are_refused(cuecard, command):
    target = f"loop{FILES.get(command, '')}"
    Path(target).symlink_to(target)
    assert "symbolic link" in refused(cuecard, command, target)


def test_a_folder_with_other_files_is_no_place_for_a_run(cuecard):
    Path("mine").mkdir()
    Path("mine/notes.txt").touch()
    assert "contains other files" in refused(cuecard, "train", "mine")
