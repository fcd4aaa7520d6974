"""A folder is all old or all new, wherever the run that writes it is killed, and whoever else writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NAMES = ["tables/a", "tables/b", "report", "card"]

#: Writes a folder in a process that is killed before its nth step on disk, for n = 1, 2, … until it is not.
KILLED_AT_EVERY_STEP = """
import json, os, signal, sys
from pathlib import Path
from cuecard.writing import recover, write_together

folder, mine = Path(sys.argv[1]), sys.argv[2:]
names = {names!r}
stale = lambda folder: [*names, "tables/stale"]
steps = {{"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "ctypes.dlsym", "shutil.rmtree"}}

def files(content):
    return {{name: lambda file: file.write_text(content) for name in names}}

def contents():
    return {{p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()
             and not any(part.startswith(".cuecard") for part in p.relative_to(folder).parts)}}

ends = []
while True:
    write_together(folder, {{**files("old"), "tables/stale": lambda file: file.write_text("old")}}, stale=stale)
    for name in mine:
        (folder / name).write_text("mine")
    child = os.fork()
    if child == 0:
        left = len(ends) + 1
        def hook(event, arguments):
            global left
            if event in steps:
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        write_together(folder, files("new"), stale=stale)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    seen = contents()
    recover(folder)
    ends.append([seen, contents()])
    if os.WIFEXITED(status):
        break
print(json.dumps(ends))
"""


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
@pytest.mark.parametrize("mine", [[], ["notes.txt", "tables/notes.txt"]])
def test_a_run_killed_at_any_step_leaves_a_folder_that_is_all_old_or_all_new(
    tmp_path: Path, mine: list[str]
) -> None:
    folder = tmp_path / "out"
    ends = json.loads(run(KILLED_AT_EVERY_STEP.format(names=NAMES), folder, *mine))
    assert len(ends) > 20
    kept = dict.fromkeys(mine, "mine")
    old = {**dict.fromkeys([*NAMES, "tables/stale"], "old"), **kept}
    new = {**dict.fromkeys(NAMES, "new"), **kept}
    for before_recovery, after_recovery in ends:
        assert after_recovery in (old, new)
        # A folder of ours is exchanged in one step: nothing is left to recover.
        assert mine or before_recovery == after_recovery
    assert old in [after for _, after in ends[1:]]
    assert ends[-1][1] == new
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


#: Writes a folder in a process that is interrupted before its nth step on disk, for n = 1, 2, … until it is not.
INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from cuecard.writing import check_file, check_folder, write_together

folder, steps = Path(sys.argv[1]), {"open", "os.mkdir", "os.rename", "ctypes.dlsym"}
left, at, counting = 0, 0, False

def hook(event, arguments):
    global left
    writes = event != "open" or isinstance(arguments[1], str) and "r" not in arguments[1]
    if counting and event in steps and writes:  # not while what was staged is removed
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(hook)
while True:
    at, interrupted = at + 1, False
    left, counting = at, True
    try:
        check_folder(folder)
        check_file(folder.with_name("file"))
        write_together(folder, {name: lambda file: file.write_text("new") for name in ("a", "b/c")})
    except KeyboardInterrupt:
        interrupted = True
    counting = False
    staged = [str(path) for path in folder.parent.rglob("*") if ".cuecard-" in path.name]
    assert not staged, (at, staged)
    if not interrupted:
        break
print(at)
"""


@pytest.mark.parametrize("mine", [False, True])
def test_a_run_that_is_interrupted_leaves_nothing_staged(tmp_path: Path, mine: bool) -> None:
    if mine:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "notes.txt").write_text("mine")
    assert int(run(INTERRUPTED, tmp_path / "out")) > 5


WRITER = f"""
import sys
from pathlib import Path
from cuecard.writing import write_together
folder, content = Path(sys.argv[1]), sys.argv[2]
for _ in range(15):
    files = {{name: lambda file: file.write_text(content) for name in {NAMES!r}}}
    write_together(folder, files, stale=lambda _: files)
"""


@pytest.mark.parametrize("mine", [False, True])
def test_runs_that_write_one_folder_at_the_same_time_take_turns(tmp_path: Path, mine: bool) -> None:
    folder = tmp_path / "out"
    if mine:
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
    commands = [[sys.executable, "-c", WRITER, str(folder), content] for content in "abc"]
    writers = [subprocess.Popen(command) for command in commands]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    files = {
        path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()
    }
    assert files.pop("notes.txt", "") == ("mine" if mine else "")
    assert sorted(files) == sorted(NAMES)
    assert len(set(files.values())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
