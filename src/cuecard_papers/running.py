"""Run what a paper's file names, each command once, and keep what it gave, so that the next call resumes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

from cuecard._lazy import PYTHON
from cuecard.analysis import Row
from cuecard.card.files import CARD_FILE, load_card
from cuecard.errors import InputError
from cuecard.writing import write_text
from cuecard_papers.judging import Output, Reproduction, Timing, Unavailable, judged
from cuecard_papers.specification import Run, read_paper

#: Where the authors' own files are, beside the folder of datasets.
AUTHORS = "oracles"
#: CPU seconds that the command of a folder took.
_SECONDS = "cpu_seconds.txt"


def reproduce_paper(
    name: str,
    data: str | Path,
    out: str | Path,
    *,
    slow: bool = False,
    tell: Callable[[str], None] = lambda command: None,
) -> Reproduction:
    """Regenerate a paper's tables and figures, and return every printed number beside ours.

    Args:
        name: icq, stubborn, selection or peco.
        data: the folder of datasets, such as data/copa/dev.parquet.
        out: where the cards of the commands are kept; a command whose card is there is not run again.
        slow: also run what takes long, such as training.
        tell: called with every command before it runs.
    """
    paper, data, out = read_paper(name), Path(data), Path(out)
    if not data.is_dir():
        raise InputError(f"{data}: there is no such folder; name the folder of the datasets with --data.")
    outputs: dict[str, Output] = {}
    results = []
    authors = _folders(data)["authors"]
    for item in paper.items:
        if not item.run:
            results.append(judged(item, paper, None, ""))
            continue
        run = paper.runs[item.run]
        if item.run not in outputs:
            outputs[item.run] = _output(run, data, out / name / item.run, slow=slow, tell=tell)
        command = _typed(run, data, out / name / item.run)
        results.append(judged(item, paper, outputs[item.run], command, authors))
    timings = tuple(Timing(run, paper.runs[run].slow, _kept_seconds(out / name / run)) for run in outputs)
    return Reproduction(
        paper.name, paper.title, paper.reference, tuple(results), timings, paper.order, str(out / name)
    )


def _output(run: Run, data: Path, folder: Path, *, slow: bool, tell: Callable[[str], None]) -> Output:
    """Return what a command gave, now or earlier, or why it gave nothing."""
    absent = [f for f in run.files if not any(any(place.glob(f)) for place in _folders(data).values())]
    if absent:
        return Unavailable("not possible", f"not in the data folder: {', '.join(absent)}")
    command = _typed(run, data, folder)
    kept = folder / ("output.json" if run.json else CARD_FILE)
    if _kept_command(folder) != command or not kept.exists():
        if run.slow and not slow:
            return Unavailable("not run", "it takes long; --slow runs it")
        options = ["--json"] if run.json else [run.card, str(folder), "--quiet"]
        folder.mkdir(parents=True, exist_ok=True)
        typed = [(_filled(run.before, data, folder), ["--quiet"])] if run.before else []
        printed, before = "", _cpu_seconds()
        for line, added in [*typed, (command, options)]:
            tell(line)
            words = [*PYTHON, "-m", "cuecard", *shlex.split(line)[1:], *added]
            ran = subprocess.run(words, capture_output=True, text=True, check=False)
            if ran.returncode:
                return Unavailable("not run", f"the command failed: {_last_words(ran.stderr)}")
            printed = ran.stdout
        if run.json:
            write_text(kept, printed)
        write_text(folder / _SECONDS, f"{_cpu_seconds() - before:.1f}\n")
        write_text(folder / "command.txt", command + "\n")
    if run.json:
        document: Row = json.loads(kept.read_text(encoding="utf-8"))
        return document
    return load_card(folder)


def _cpu_seconds() -> float:
    """Return what all commands that have ended took, on all cores together."""
    spent = os.times()
    return spent.children_user + spent.children_system


def _kept_seconds(folder: Path) -> float | None:
    file = folder / _SECONDS
    return float(file.read_text(encoding="utf-8")) if file.exists() else None


def _last_words(message: str) -> str:
    """Return the last line of an error that has words, without the frame that the terminal draws around it."""
    lines = [re.sub(r"^[\s│]+|[\s│]+$", "", line) for line in message.splitlines()]
    return next((line for line in reversed(lines) if re.search(r"\w", line)), "no message")


def _kept_command(folder: Path) -> str:
    file = folder / "command.txt"
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _typed(run: Run, data: Path, out: Path) -> str:
    """Return a command as one types it."""
    return _filled(run.command, data, out)


def _filled(command: str, data: Path, out: Path) -> str:
    places = {name: shlex.quote(str(place)) for name, place in {**_folders(data), "out": out}.items()}
    return f"cuecard {command.format(**places)}"


def _folders(data: Path) -> dict[str, Path]:
    return {"data": data, "authors": data.parent / AUTHORS}
