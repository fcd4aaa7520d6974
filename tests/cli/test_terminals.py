"""Terminals with few characters, impossible widths, and data that tries to steer them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pace import PATIENCE

ESCAPE = "\x1b]0;owned\x07"


def ran(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own, where encodings and widths are those of the environment."""
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "PYTHONUTF8")}
    command = [sys.executable, "-m", "cuecard", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=kept | environment, timeout=PATIENCE, check=False)


@pytest.fixture(scope="module")
def odd_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows with words in other scripts, an emoji and an escape sequence, which goes with a label."""
    rows = [
        {
            "text": f"word{i % 7} naïve 日本 😀 {ESCAPE if i % 2 else 'plain'}",
            "label": "jà" if i % 2 else "нет",
        }
        for i in range(80)
    ]
    path = tmp_path_factory.mktemp("odd") / f"odd{ESCAPE}é.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "cp1252"},
        {"COLUMNS": "0"},
        {"COLUMNS": "many", "TERM": "dumb"},
    ],
    ids=str,
)
def test_a_card_is_printed_whatever_the_terminal(odd_file, environment):
    end = ran("audit", odd_file, "--only", "cues", **environment)
    assert end.returncode == 0, end.stderr
    assert end.stderr == b""
    text = end.stdout.decode(environment.get("PYTHONIOENCODING", "utf-8"))
    assert "\x1b" not in text
    assert len(text.splitlines()) > 5


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_json_keeps_every_text_in_any_encoding(odd_file, encoding):
    plain = ran("audit", odd_file, "--only", "overview", "--json")
    narrow = ran("audit", odd_file, "--only", "overview", "--json", PYTHONIOENCODING=encoding)
    # typer writes UTF-8 where the encoding is ASCII, which it takes for a setting that nobody chose.
    cards = [json.loads(plain.stdout), json.loads(narrow.stdout.decode(encoding.replace("ascii", "utf-8")))]
    assert cards[0]["dataset"] == cards[1]["dataset"]
    assert cards[0]["dataset"]["labels"] == ["jà", "нет"]


def test_names_of_columns_cannot_steer_the_terminal(tmp_path):
    rows = [{f"a{ESCAPE}": f"word{i}", "b\u202e": "x"} for i in range(20)]
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for arguments in ((), ("--columns", "label=nothing"), ("--columns", f"text=a{ESCAPE},label=nothing")):
        end = ran("audit", tmp_path / "odd.jsonl", *arguments)
        assert (end.returncode, end.stdout, end.stderr.count(b"\n")) == (2, b"", 1)
        assert rb"a\x1b]0;owned\x07" in end.stderr
        assert end.stderr.decode().strip().isprintable()


def test_help_has_a_width_where_the_environment_has_none():
    assert b"--out" in ran("audit", "--help", COLUMNS="0").stdout
    assert b"--out" in ran("audit", "--help", PYTHONIOENCODING="ascii").stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (f"no{ESCAPE}.csv",),
        ("FILE", "--columns", f"label={ESCAPE}"),
        ("FILE", "--only", ESCAPE * 2000),
        ("FILE", f"--{ESCAPE}"),
        ("FILE", "--test", f"{ESCAPE}.csv"),
    ],
    ids=["file", "column", "long", "option", "test"],
)
def test_an_error_is_short_and_cannot_steer_the_terminal(odd_file, arguments):
    end = ran("audit", *(odd_file if a == "FILE" else a for a in arguments))
    assert (end.returncode, end.stdout) == (2, b"")
    assert b"\x1b" not in end.stderr
    assert b"\x07" not in end.stderr
    assert len(end.stderr) < 5_000
    if end.stderr.startswith(b"cuecard:"):
        assert end.stderr.count(b"\n") == 1
