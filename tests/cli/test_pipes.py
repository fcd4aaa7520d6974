"""Pipes in the place of files: rows come in as `-`, and nothing waits for a pipe that nobody writes to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

COMMANDS = {
    "data": ["audit", "PIPE", "--only", "overview"],
    "test": ["audit", "train.csv", "--test", "PIPE"],
    "predictions": ["probe", "train.csv", "--holdout", "0.3", "--predictions", "PIPE"],
    "card": ["report", "PIPE"],
    "baseline": ["compare", "card", "PIPE"],
    "out": ["debias", "train.csv", "--out", "PIPE"],
    "folder": ["audit", "train.csv", "--out", "PIPE"],
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_is_refused_and_not_waited_for(cuecard, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    Path("card").mkdir()
    os.mkfifo("card/card.json")
    rows = [f"premise {i},hypothesis {i % 7},{'yes' if i % 2 else 'no'}" for i in range(40)]
    Path("train.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    ran = cuecard(*(word.replace("PIPE", "pipe.csv") for word in COMMANDS[name]))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
    assert any(words in ran.err for words in ("is a pipe or a device", "is not a regular file", "is a file"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_a_card_is_refused(cuecard, tmp_path):
    os.mkfifo(tmp_path / "card.json")
    ran = cuecard("report", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "card.json is a pipe or a device" in ran.err
