"""A folder is all old or all new, wherever the run that writes it is killed, and whoever else writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuecard.errors import InputError
from cuecard.writing import recover, staged_file, staged_folder, write_together, write_whole
from pace import PATIENCE

NAMES = ["tables/a", "tables/b", "report", "card"]

#: Writes a folder in a process that is killed before its nth step on disk, for n = 1, 2, … until it is not.
KILLED_AT_EVERY_STEP = """
import json, os, shutil, signal, sys
from pathlib import Path
from cuecard.writing import recover, staged_file, staged_folder, write_together

folder, rows, mine = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
names = {names!r}
stale = lambda folder: [*names, "tables/stale"]
steps = {{"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "ctypes.dlsym", "shutil.rmtree"}}

def files(content):
    return {{name: lambda file: file.write_text(content) for name in names}}

def write_new():
    with staged_file(rows, lambda file: file.write_text("new")) as last:
        with staged_folder(folder, files("new"), stale=stale, last=last):
            pass

def contents():
    return {{"../rows": rows.read_text()}} | {{
             p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()
             and not any(part.startswith(".cuecard") for part in p.relative_to(folder).parts)}}

ends = []
while True:
    write_together(folder, {{**files("old"), "tables/stale": lambda file: file.write_text("old")}}, stale=stale)
    rows.write_text("old")
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
        write_new()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    seen = contents()
    recover(folder)
    ends.append([seen, contents()])
    # Every run looks at what is staged: what all killed runs leave would make every next one longer.
    for staged in sorted(rows.parent.glob(".cuecard-file-*"))[1:]:
        shutil.rmtree(staged)
    if os.WIFEXITED(status):
        break
print(json.dumps(ends))
"""


def run(script: str, *arguments: object) -> str:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
@pytest.mark.parametrize("mine", [[], ["notes.txt", "tables/notes.txt"]])
def test_a_run_killed_at_any_step_leaves_a_folder_and_a_file_with_it_all_old_or_all_new(
    tmp_path: Path, mine: list[str]
) -> None:
    folder, rows = tmp_path / "out", tmp_path / "rows"
    ends = json.loads(run(KILLED_AT_EVERY_STEP.format(names=NAMES), folder, rows, *mine))
    assert len(ends) > 20
    kept = dict.fromkeys(mine, "mine")
    old = {**dict.fromkeys([*NAMES, "tables/stale", "../rows"], "old"), **kept}
    new = {**dict.fromkeys([*NAMES, "../rows"], "new"), **kept}
    for before_recovery, after_recovery in ends:
        assert after_recovery in (old, new)
        # A folder of ours is exchanged in one step: only the file elsewhere may be left to recover.
        assert mine or before_recovery | {"../rows": ""} == after_recovery | {"../rows": ""}
    assert old in [after for _, after in ends[1:]]
    assert ends[-1][1] == new
    left = [path for path in tmp_path.iterdir() if path not in (folder, rows)]
    assert [path.name.startswith(".cuecard-file-") for path in left] == [True]
    for path in left:  # nobody has these locked, and they are old enough to be nobody's
        os.utime(path, (0, 0))
    write_whole(rows, lambda file: file.write_text("newer"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows"]


def test_what_a_living_run_has_staged_stays(tmp_path: Path) -> None:
    rows = tmp_path / "rows"
    with staged_file(rows, lambda file: file.write_text("slow")) as slow:
        os.utime(slow.file.parent, (0, 0))
        write_whole(rows, lambda file: file.write_text("quick"))
        assert slow.file.read_text() == "slow"
    assert rows.read_text() == "slow"


@pytest.mark.parametrize("mine", [False, True])
def test_a_file_that_cannot_take_its_place_takes_the_folder_back(tmp_path: Path, mine: bool) -> None:
    folder, rows = tmp_path / "out", tmp_path / "rows"
    write_together(folder, {"card": lambda file: file.write_text("old")})
    if mine:
        (folder / "notes.txt").write_text("mine")
    with (
        pytest.raises(InputError, match="cannot be written"),
        staged_file(rows, lambda file: file.write_text("new")) as last,
        staged_folder(folder, {"card": lambda file: file.write_text("new")}, last=last),
    ):
        (rows / "inside").mkdir(parents=True)  # a folder is where the file belongs
    assert (folder / "card").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["card", *["notes.txt"] * mine]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows"]


def test_a_plan_that_came_with_a_folder_moves_no_file_of_the_users(tmp_path: Path) -> None:
    secret, target = tmp_path / "secret", tmp_path / "target"
    secret.write_text("secret")
    plan = tmp_path / "card" / ".cuecard-writing-1234" / "plan.json"
    plan.parent.mkdir(parents=True)
    plan.write_text(
        json.dumps({"files": [], "stale": [], "last": {"file": str(secret), "place": str(target)}})
    )
    recover(tmp_path / "card")
    assert secret.read_text() == "secret"
    assert not target.exists()


@pytest.mark.parametrize("linked", ["tables", ".cuecard-writing-1234/new"])
def test_a_plan_that_came_with_a_folder_follows_no_link_out_of_it(tmp_path: Path, linked: str) -> None:
    home, card = tmp_path / "home", tmp_path / "card"
    for file in (home / "profile", home / "tables" / "profile"):
        file.parent.mkdir(exist_ok=True)
        file.write_text("mine")
    plan = card / ".cuecard-writing-1234" / "plan.json"
    plan.parent.mkdir(parents=True)
    plan.write_text(json.dumps({"files": ["tables/profile"], "stale": ["tables/other"]}))
    (card / linked).symlink_to(home)
    if linked == "tables":
        (plan.parent / "new" / "tables").mkdir(parents=True)
        (plan.parent / "new" / "tables" / "profile").write_text("theirs")
        (home / "other").write_text("mine")
    before = {file: file.read_text() for file in home.rglob("*") if file.is_file()}
    recover(card)
    assert {file: file.read_text() for file in home.rglob("*") if file.is_file()} == before


#: Writes a folder in a process that is interrupted before its nth step on disk, for n = 1, 2, … until it is not.
INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from cuecard.limits import check_file, check_folder
from cuecard.writing import write_together

folder, steps = Path(sys.argv[1]), {"open", "os.mkdir", "os.rename", "ctypes.dlsym"}
left, at, counting = 0, 0, False

def hook(event, arguments):
    global left
    writes = event != "open" or isinstance(arguments[1], str) and "r" not in arguments[1]
    if counting and event in steps and writes:  # not while what was staged is removed
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background begins with it ignored
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
