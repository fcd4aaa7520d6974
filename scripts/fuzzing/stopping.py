"""Commands that write, stopped at a step on disk: what they leave is all old or all new, and they run again."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzzing.commands import Command

#: What a run does on disk: it can be stopped before each of these. While it removes what it has staged, it is only
#: killed: what an interrupt leaves then is removed by the next run.
OPENING = {"open", "os.mkdir"}
MOVING = {"os.rename", "ctypes.dlsym"}
REMOVING = {"os.remove", "os.rmdir", "shutil.rmtree"}
#: Runs a command in a process of its own and returns its exit code with what it wrote to standard error.
Forked = Callable[[Path, Callable[[], object], Command], tuple[int, str]]


@dataclass(frozen=True)
class Writing:
    """A command that writes, and the files or folders that it writes: each of them all old or all new."""

    arguments: tuple[str, ...]
    targets: tuple[str, ...]
    again: tuple[int, ...] = (0,)  # the exit code of a further run
    first: tuple[str, ...] = ()  # a command that writes what this one reads

    @property
    def lines(self) -> list[Command]:
        """What to run so that everything is written once."""
        return [Command(list(words)) for words in (self.first, self.arguments) if words]


_DATA = ("train.csv", "--holdout", "0.3")
PLANNING = (
    "plan",
    "train.csv",
    "--goal",
    "overview.label_share.no >= 0.9",
    "--method",
    "random",
    "--budget",
    "2",
)
_PREDICTIONS = ("train.csv", "--test", "test.csv", "--predictions", "predictions.csv")
#: Every verb that writes, but `ask`, which needs a server and writes as `correct` does.
WRITERS = {
    "audit": Writing(("audit", "train.csv", "--only", "overview", "--out", "card"), ("card",)),
    "debias": Writing(
        ("debias", "train.csv", "--min-count", "2", "--out", "rows.csv", "--report", "weights"),
        ("rows.csv", "weights"),
    ),
    "stress": Writing(("stress", *_DATA, "--out", "stress"), ("stress",)),
    "pairs": Writing(
        ("stress", "train.csv", "--kind", "identical-pairs", "--match", "yes", "--out", "pairs.csv"),
        ("pairs.csv",),
    ),
    "train": Writing(("train", *_DATA, "--out", "run"), ()),
    "init": Writing(("check", "card", "--init", "--policy", "first.toml"), ("first.toml",), (2,)),
    "ratchet": Writing(
        ("check", "card", "--policy", "policy.toml", "--ratchet", "accepted.json"), ("accepted.json",), (0, 1)
    ),
    "plan": Writing(
        (*PLANNING, "--out", "sheet.csv"),
        ("sheet.csv",),
    ),
    "apply": Writing(
        ("plan", "train.csv", "--apply", "given.csv", "--out", "v2"),
        ("v2",),
        first=(*PLANNING, "--out", "given.csv"),
    ),
    "export": Writing(("export", "card", "--format", "hf-card", "--out", "README.md"), ("README.md",)),
    "report": Writing(("report", "card"), ("card/report.html", "card/card.json")),
    "page": Writing(("compare", "card", "card", "--page", "page.html"), ("page.html",)),
    "probe": Writing(("probe", *_PREDICTIONS, "--only", "permutation_test", "--out", "probed"), ("probed",)),
    "correct": Writing(
        ("correct", *_PREDICTIONS, "--cues", "no", "--out", "corrected.csv"), ("corrected.csv",)
    ),
    "overlap": Writing(("overlap", "train.csv", "--with", "test.csv", "--out", "shared"), ("shared",)),
    "board": Writing(("board", "card", "--page", "board.html"), ("board.html",)),
    "peco": Writing(("papers", "peco", "clusters.csv", "--chart", "map.html"), ("map.html",)),
    "findings": Writing(
        ("check", "card", "--policy", "policy.toml", "--format", "sarif", "--out", "findings.json"),
        ("findings.json",),
        (0, 1),
    ),
    "stubborn": Writing(
        ("papers", "stubborn", *_DATA, "--model", "linear", "--schemes", "uniform", "--out", "experiment"),
        ("experiment",),
    ),
    "demo": Writing(("demo", "--rows", "400", "--clean", "--out", "demo"), ("demo",)),
}


def counted(
    folder: Path, log: Path, run: Callable[[], object], forked: Forked, line: Command
) -> tuple[int, str]:
    """Run a command to its end and write the steps that it makes in a folder to a file; return how it ended."""

    def counting() -> None:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        on_step(folder, lambda event: os.write(file, f"{event}\n".encode()))
        run()

    return forked(folder, counting, line)


def stopped(
    folder: Path,
    name: str,
    steps: list[str],
    by: signal.Signals,
    run: Callable[[Command], object],
    forked: Forked,
    rng: random.Random,
) -> str:
    """Return what a command leaves when it is stopped before a random step: old, new, or what is wrong."""
    writing = WRITERS[name]
    line = Command([*writing.arguments, *(["--quiet"] if writing.arguments[0] != "export" else [])])
    possible = [i for i, step in enumerate(steps) if by == signal.SIGKILL or step not in REMOVING]
    moving = [i for i in possible if steps[i] not in OPENING]
    at = rng.choice(moving if moving and rng.random() < 0.7 else possible)
    mine = [target for target in writing.targets if (folder / target).is_dir()] if rng.random() < 0.3 else []
    for target in mine:
        (folder / target / "mine.txt").write_text("mine")
    before = [_files(folder / target) for target in writing.targets]

    def stopping() -> None:
        left = at + 1

        def count(event: str) -> None:
            nonlocal left
            left -= 1
            # A further run makes other steps than the one that was counted: an interrupt waits for the next that fits.
            if left <= 0 and (by == signal.SIGKILL or event not in REMOVING):
                left = sys.maxsize
                os.kill(os.getpid(), by)

        on_step(folder, count)
        run(line)

    code, said = forked(folder, stopping, line)
    expected = {0, *writing.again, -by if by == signal.SIGKILL else 130}
    if code not in expected or "Traceback" in said:
        return f"step {at} of {name}: exit code {code}: {said.strip()[-200:]!r}"
    if by == signal.SIGINT and (left := _staged(folder)):
        return f"step {at} of {name}: leaves {left[0]}"
    from cuecard.writing import recover

    for place in (path for path in folder.iterdir() if path.is_dir()):
        recover(place)
    ends = set()
    for target, old in zip(writing.targets, before, strict=True):
        now = _files(folder / target)
        kept = [file for file, number in old.items() if now.get(file) == number]
        if len(kept) == len(old) and len(now) == len(old):
            ends.add("old")
        elif not kept and now:
            ends.add("new")
        else:
            return f"step {at} of {name}: {target} is mixed: {kept[:2]} are old"
    if len(ends) > 1:
        return f"step {at} of {name}: one target is old, another new"
    if any(not (folder / target / "mine.txt").is_file() for target in mine):
        return f"step {at} of {name}: a file of the user's is gone"
    code, said = forked(folder, lambda: run(line), line)
    if code not in writing.again:
        return f"step {at} of {name}, run again: exit code {code}: {said.strip()[-200:]!r}"
    if name != "train" and (left := [f for f in _staged(folder) if f.startswith(writing.targets)]):
        return f"step {at} of {name}, run again: leaves {left[0]}"
    return "old" if ends <= {"old"} else "new"


def on_step(folder: Path, act: Callable[[str], object]) -> None:
    """Call a function with every step that this process makes on disk below a folder."""
    inside = str(folder)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "ctypes.dlsym":
            act(event)
        elif event in OPENING | MOVING | REMOVING:
            place = arguments[0]
            if event == "open" and (not isinstance(arguments[1], str) or "r" in arguments[1]):
                return  # nothing is written
            if isinstance(place, str | bytes | os.PathLike) and inside in os.path.abspath(os.fsdecode(place)):
                act(event)

    sys.addaudithook(hook)


def _files(target: Path) -> dict[str, int]:
    """Return the files of a target with the numbers by which the disk knows them; without the user's."""
    if target.is_file():
        return {target.name: target.stat().st_ino}
    paths = (path for path in target.rglob("*") if path.is_file() and path.name != "mine.txt")
    return {
        str(path.relative_to(target)): path.stat().st_ino for path in paths if ".cuecard-" not in str(path)
    }


def _staged(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if ".cuecard-" in path.name]
