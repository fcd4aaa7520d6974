"""Where address space is limited: a floor that is checked before imports, and a sentence instead of an abort."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cuecard import _address_space
from pace import PATIENCE
from small_sets import pair_instances

resource = pytest.importorskip("resource")
ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]


def limited(space: int, *arguments: str, code: str = "", cwd: Path | None = None) -> tuple[int, str]:
    """Return the exit code of a command with so much address space, and what it wrote to standard error."""
    words = ["-c", code] if code else ["-m", "cuecard"]
    ran = subprocess.run(
        [sys.executable, *words, *arguments], capture_output=True, text=True, timeout=PATIENCE, cwd=cwd,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space)),
    )  # fmt: skip
    return ran.returncode, ran.stderr


def test_below_the_floor_a_command_is_one_sentence_before_any_import(tmp_path: Path) -> None:
    for verb in (["audit", "x.csv"], ["report", "card"], ["serve"], ["demo", "--out", "new"]):
        code, said = limited(400 << 20, *verb, cwd=tmp_path)
        assert code == 2
        assert said.count("\n") == 1
        assert said.startswith("cuecard: the limit of address space is 0.4 GB; commands need ")
    assert list(tmp_path.iterdir()) == []
    assert limited(400 << 20, "--version") == (0, "")


def test_at_the_floor_commands_work_and_errors_are_theirs(tmp_path: Path) -> None:
    pair_instances(ROWS).table.drop("split").write_csv(tmp_path / "train.csv")
    space = _address_space.floor()
    code, said = limited(
        space, "audit", "train.csv", "--only", "overview,cues", "--quiet", "--out", "card", cwd=tmp_path
    )
    assert (code, said) == (0, "")
    assert (tmp_path / "card" / "card.json").is_file()
    code, said = limited(space, "audit", "nothing.csv", cwd=tmp_path)
    assert code == 2
    assert "There is no file or folder nothing.csv" in said


GUARDED = "import sys; sys.argv = ['cuecard', 'audit']; from cuecard._address_space import guarded; "


NO_THREAD = '(_ for _ in ()).throw(RuntimeError("can\'t start new thread"))'


@pytest.mark.parametrize("ends", ["__import__('os').abort()", NO_THREAD, "bytearray(1 << 40)"])
def test_a_command_whose_libraries_get_no_memory_is_one_sentence(ends: str) -> None:
    code, said = limited(8 << 30, code=GUARDED + f"sys.exit(guarded(lambda: {ends}))")
    assert code == 2
    assert said.startswith(
        "cuecard: the limit of address space is 8.0 GB, which is not enough for this command"
    )
    assert said.count("\n") == 1


def test_other_errors_and_signals_stay_what_they_are() -> None:
    code, said = limited(8 << 30, code=GUARDED + "sys.exit(guarded(lambda: 1 / 0))")
    assert code != 0
    assert "ZeroDivisionError" in said
    kill = "__import__('os').kill(__import__('os').getpid(), 9)"
    assert limited(8 << 30, code=GUARDED + f"sys.exit(guarded(lambda: {kill}))")[0] == -signal.SIGKILL


def test_a_signal_reaches_the_command(tmp_path: Path) -> None:
    wait = "(print('begun', flush=True), __import__('time').sleep(600), 0)[2]"
    process = subprocess.Popen(
        [sys.executable, "-c", GUARDED + f"sys.exit(guarded(lambda: {wait}))"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
    )  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        begun = time.monotonic()
        process.terminate()
        assert process.wait(PATIENCE) == -signal.SIGTERM
        assert time.monotonic() - begun < 300
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
