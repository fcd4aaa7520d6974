"""Pipes in the place of files: rows come in as `-`, and nothing waits for a pipe that nobody writes to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuecard.errors import InputError

ASK = [
    "ask",
    "train.csv",
    "--test",
    "train.csv",
    "--endpoint",
    "http://127.0.0.1:9/v1",
    "--model",
    "m",
    "--out",
    "o.csv",
]
COMMANDS = {
    "data": ["audit", "PIPE", "--only", "overview"],
    "test": ["audit", "train.csv", "--test", "PIPE"],
    "predictions": ["probe", "train.csv", "--holdout", "0.3", "--predictions", "PIPE"],
    "card": ["report", "PIPE"],
    "baseline": ["compare", "card", "PIPE"],
    "out": ["debias", "train.csv", "--out", "PIPE"],
    "folder": ["audit", "train.csv", "--out", "PIPE"],
    "policy": ["check", "train.csv", "--policy", "PIPE"],
    "ratchet": ["check", "train.csv", "--ratchet", "PIPE"],
    "worksheet": ["plan", "train.csv", "--apply", "PIPE", "--out", "new"],
    "prompt": [*ASK, "--prompt", "pipe.j2"],
    "answers": [*ASK, "--keep-answers", "PIPE"],
    "judge": ["probe", "--judge", "PIPE"],
    "overlap": ["overlap", "train.csv", "--with", "PIPE", "--shortest", "2"],
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_is_refused_and_not_waited_for(cuecard, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    os.mkfifo("pipe.j2")
    Path("card").mkdir()
    os.mkfifo("card/card.json")
    rows = [f"premise {i},hypothesis {i % 7},{'yes' if i % 2 else 'no'}" for i in range(40)]
    Path("train.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    ran = cuecard(*(word.replace("PIPE", "pipe.csv") for word in COMMANDS[name]))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), ran.err
    assert any(words in ran.err for words in ("is a pipe or a device", "is not a regular file", "is a file"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_word_vectors_is_refused(tmp_path):
    from cuecard.models.neural.word_vectors import check_width, vectors_digest

    os.mkfifo(tmp_path / "vectors.txt")
    for read in (vectors_digest, lambda path: check_width(path, 3)):
        with pytest.raises(InputError, match="is a pipe or a device: save its content as a file\\."):
            read(str(tmp_path / "vectors.txt"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_a_card_is_refused(cuecard, tmp_path):
    os.mkfifo(tmp_path / "card.json")
    ran = cuecard("report", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "card.json is a pipe or a device" in ran.err
