"""Odd command lines of every verb end with an exit code and a sentence; `make fuzz` tries far more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pace import PATIENCE
from small_sets import pair_instances

SCRIPTS = Path(__file__).parents[2] / "scripts"
sys.path.append(str(SCRIPTS))

from fuzzing.table import KINDS  # noqa: E402

ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]


def test_odd_command_lines_end_well_and_killed_runs_leave_whole_folders():
    command = [sys.executable, SCRIPTS / "fuzz_commands.py", "--cases", "20", "--seed", "5"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [line.strip("| ").split(" | ") for line in ran.stdout.splitlines()[2:]]
    assert [row[1] for row in rows] == ["20", "10", "2", "2", "2", "4"]
    assert [row[0] for row in rows] == [
        KINDS[name].title for name in ("commands", "valid", "full", "killed", "interrupted", "served")
    ]


#: All verbs but `demo`, `serve` and `papers theorem`, which need no argument and would run.
VERBS = [
    "audit",
    "ask",
    "board",
    "check",
    "compare",
    "correct",
    "debias",
    "explain",
    "export",
    "overlap",
    "plan",
    "probe",
    "report",
    "stress",
    "train",
]
OF_PAPERS = ("stubborn", "selection", "reproduce", "peco")


@pytest.mark.parametrize(
    "verb", [*VERBS, "tools", "tools cache", "papers", *(f"papers {name}" for name in OF_PAPERS)]
)
def test_a_verb_without_its_arguments_says_what_it_takes(cuecard, verb):
    ran = cuecard(*verb.split())
    assert ran.code in (0, 2)
    assert "Usage: cuecard" in ran.out + ran.err or ran.err.startswith("cuecard: There is nothing to")


@pytest.mark.parametrize(
    ("stop", "code", "sentence"),
    [
        (KeyboardInterrupt, 130, "cuecard: interrupted\n"),
        (
            MemoryError,
            2,
            "cuecard: {out} cannot be written: the memory is full. Give the command more memory.\n",
        ),
    ],
)
def test_a_run_that_is_stopped_while_it_draws_the_report_leaves_the_old_folder(
    cuecard, tmp_path, monkeypatch, stop, code, sentence
):
    pair_instances(ROWS).table.drop("split").write_csv(tmp_path / "train.csv")
    command = ["audit", tmp_path / "train.csv", "--only", "overview", "--out", tmp_path / "card", "--quiet"]
    assert cuecard(*command).code == 0
    before = {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def stopped(card, folder):
        raise stop

    monkeypatch.setattr("cuecard.report.render_html", stopped)
    ran = cuecard(*command)
    assert (ran.code, ran.out, ran.err) == (code, "", sentence.format(out=tmp_path / "card"))
    assert {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
