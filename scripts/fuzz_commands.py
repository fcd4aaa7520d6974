"""Run odd and wrong command lines of every verb, on full disks and without an output, and print how they end.

    python scripts/fuzz_commands.py [--cases N] [--seed N] [--only KIND]

A command may succeed (exit code 0), say that an analysis failed or a policy is violated (1), or refuse (2): then with a
sentence, and every file is as it was. Anything else is a crash. Then verbs that write run on a disk that fills up, if
it can be mounted, and are killed or interrupted at a random step of a run that writes over an older one: each target
must be all old or all new, and the verb must run again. Valid command lines must run, too. A server of the app is
killed while it writes: the next one must find everything whole. Each case is made from its seed.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from fuzzing import serving, stopping, table  # noqa: E402
from fuzzing.commands import Command, command, fill  # noqa: E402
from fuzzing.valid import valid_command  # noqa: E402

#: Seconds of a processor that a command on 80 rows may take, and how many times as long it may take on a clock.
LIMIT, PATIENCE = 120, 20
#: Seconds after which a server is interrupted.
SERVED = 3
KINDS = {
    "commands": None, "valid": None, "full": None, "killed": signal.SIGKILL, "interrupted": signal.SIGINT,
    "served": None,
}  # fmt: skip
#: Cases of a kind, for each odd command line.
SHARES = {"commands": 1.0, "valid": 0.5, "served": 0.2}


def forked(folder: Path, run: Callable[[], object], line: Command) -> tuple[int, str]:
    """Return the exit code of a command in a process of its own, and what it wrote to standard error."""
    errors = folder.parent / "stderr.txt"
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
        os.dup2(os.open("/dev/full" if line.stdout == "/dev/full" else os.devnull, os.O_WRONLY), 1)
        if line.stdout == "closed":
            os.close(1)
            sys.stdout = sys.__stdout__ = None
        elif line.stdout == "pipe":
            reader, writer = os.pipe()
            os.dup2(writer, 1)
            os.close(reader)
        if line.stdout != "closed":
            stream = os.fdopen(1, "w", encoding=line.encoding, closefd=False)
            sys.stdout = sys.__stdout__ = stream  # type: ignore[misc]
        os.environ["COLUMNS"] = line.columns
        if line.largest_file is not None:
            # The messages themselves must fit: standard error is a file here.
            resource.setrlimit(resource.RLIMIT_FSIZE, (line.largest_file + 10_000,) * 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if line.arguments[:1] == ["serve"]:
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
            signal.alarm(SERVED)
        else:
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            signal.alarm(PATIENCE * LIMIT)
        code: object = 0
        try:
            run()
        except SystemExit as end:
            code = end.code or 0
        except BaseException:
            import traceback

            traceback.print_exc()
            code = 99
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 98)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), errors.read_text(errors="replace")


def everything(folder: Path) -> dict[str, bytes | None]:
    """Return every file and folder below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def run_line(line: Command) -> None:
    """Run a command line in this process."""
    from cuecard.cli import main

    sys.argv = ["cuecard", *line.arguments]
    main()


def ended(folder: Path, line: Command, run: Callable[[], object] | None = None) -> str:
    """Return how a command ends: done, failed, refused, or what is wrong with it; `run` runs it in another way."""
    before = everything(folder)
    code, said = forked(folder, run or (lambda: run_line(line)), line)
    after = everything(folder)
    if "Traceback" in said:
        return said.strip().splitlines()[-1][:200]
    if left := [name for name in after if ".cuecard-" in name]:
        return f"leaves {left[0]}"
    if code == 2:
        changed = sorted(name for name in {*before, *after} if before.get(name, 0) != after.get(name, 0))
        if changed:
            return f"exit code 2 and {changed[:3]} changed"
        sentence = said.startswith("cuecard: ") and said.count("\n") == 1
        return (
            "refused"
            if sentence or "Usage: cuecard" in said or (not said and line.stdout)
            else f"says {said[:200]!r}"
        )
    if code == 1 and ("failed" in said or {"check", "compare"} & {*line.arguments}):
        return "failed"
    return (
        "done"
        if code == 0 or (code == 130 and "serve" in line.arguments)
        else f"exit code {code}: {said[:200]!r}"
    )


def on_full_disk(place: Path, name: str, rng: random.Random) -> str:
    """Return how a writer ends on a disk that fills up while it writes, though there was room when it began."""
    disk = place / "disk"
    disk.mkdir(exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", disk], stderr=subprocess.DEVNULL
    )
    if mounted.returncode:
        return "not mounted"
    try:
        folder = disk / "work"
        folder.mkdir()
        fill(folder, place / "home" / "card")
        *first, line = stopping.WRITERS[name].lines
        for earlier in first:
            assert forked(folder, partial(run_line, earlier), earlier)[0] in (0, 1)
        room = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
        left = rng.choice([8_192, 50_000, 200_000, 1_000_000])
        (disk / "filler").write_bytes(bytes(room - left))

        def without_looking() -> None:
            from cuecard import limits

            limits._check_room = lambda *_: None
            run_line(line)

        return ended(folder, line, without_looking if rng.random() < 0.7 else None)
    finally:
        subprocess.run(["umount", disk], check=True)


def saved_card(folder: Path) -> None:
    """Write a card with its report in a process of its own: this one must stay without threads."""

    def write() -> None:
        from cuecard.card import staged_card
        from cuecard.data.demo import demo_nli
        from cuecard.report import render_html
        from cuecard.run import audit

        card = audit(demo_nli(200, seed=1).instances, only=["overview"])
        card = card.model_copy(update={"dataset": card.dataset.model_copy(update={"name": "demo"})})
        full = audit(demo_nli(200, seed=1).instances, only=["overview"])
        card.attach(full.tables)
        with staged_card(card, folder / "card", render_html(card)):
            pass

    code, said = forked(folder, write, Command([]))
    assert code == 0, said


def _import_all() -> None:
    """Import once what every command would import again; nothing is computed, so that no thread is started."""
    from cuecard import cli, report, run  # noqa: F401
    from cuecard.audits import AUDITS
    from cuecard.probes import PROBES
    from cuecard.remedies import REMEDIES
    from cuecard.report.charts import drawing  # noqa: F401
    from cuecard.report.html import card_page  # noqa: F401

    assert [*AUDITS, *PROBES, *REMEDIES]


def prepared(place: Path, name: str) -> tuple[Path, list[str]]:
    """Return a folder in which a writer has written once, and the steps that took."""
    folder, log = place / name / "work", place / name / "steps.txt"
    if not log.exists():
        folder.mkdir(parents=True)
        fill(folder, place / "home" / "card")
        for line in stopping.WRITERS[name].lines:
            code, said = stopping.counted(folder, log, lambda line=line: run_line(line), forked, line)
            assert code in (0, 1), (name, said)
    return folder, log.read_text().split()


def end_of_case(kind: str, rng: random.Random, place: Path) -> tuple[str, str]:
    """Run a case; return how it ended and what it was."""
    folder = place / "case" / "work"
    by = KINDS[kind]
    if kind == "full":
        name = rng.choice(list(stopping.WRITERS))
        return on_full_disk(place, name, rng), name
    try:
        if by is None:
            folder.mkdir(parents=True)
            fill(folder, place / "home" / "card")
            if kind == "served":
                return serving.killed(folder, forked, rng), ""
            line = valid_command(rng) if kind == "valid" else command(rng)
            return ended(folder, line), str(line)
        name = rng.choice(list(stopping.WRITERS))
        before, steps = prepared(place, name)
        shutil.copytree(before, folder, symlinks=True)
        return stopping.stopped(folder, name, steps, by, run_line, forked, rng), ""
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def main() -> int:
    """Print how commands ended; the exit code is 1 if any crashed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--cases",
        type=int,
        default=1000,
        help="odd command lines; half as many valid ones, a fifth as many killed servers, a tenth of other runs",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(KINDS))
    options = parser.parse_args()
    os.environ.update(POLARS_MAX_THREADS="1", OMP_NUM_THREADS="1", NUMBA_NUM_THREADS="1")
    os.environ.pop("CI", None)
    _import_all()
    crashes = 0
    print(table.HEAD, flush=True)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        os.environ["CUECARD_CACHE"] = str(place / "cache")
        (place / "home").mkdir()
        saved_card(place / "home")
        for kind in [options.only] if options.only else KINDS:
            cases = max(1, round(options.cases * SHARES.get(kind, 0.1)))
            ends: Counter[str] = Counter()
            for case in range(cases):
                seed = f"{options.seed}/{kind}/{case}"
                end, what = end_of_case(kind, random.Random(seed), place)
                if end not in ("done", "failed", "refused", "old", "new", "whole", "not mounted"):
                    print(f"  seed {seed!r}: {end} {what}".rstrip(), flush=True)
                    end = "crashes"
                ends[end] += 1
            crashes += ends["crashes"]
            print(table.row(kind, ends), flush=True)
    return int(crashes > 0)


if __name__ == "__main__":
    raise SystemExit(main())
