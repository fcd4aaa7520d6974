"""Command lines that are odd, wrong, or run where nothing can be written, each made from its seed."""

from __future__ import annotations

import csv
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

#: Values for options that take a number, a name, a path, or pairs; most of them wrong.
NUMBERS = ["0", "1", "2", "-1", "0.5", "1e400", "nan", "x", "", "99999999999999999999", "1000000", "-0"]
NAMES = [
    "cues",
    "overview",
    "x",
    "",
    ",",
    "cues,cues",
    "cues,x",
    "word",
    "all",
    "none",
    "\x1b[31m",
    "ü",
    "linear",
    "a" * 300,
]
PATHS = [
    "new",
    "new/deep/er",
    "train.csv",
    "data",
    "data/new",
    "card",
    "card/tables",
    "empty.csv",
    "nothing.csv",
    "",
    " ",
    ".",
    "/dev/null",
    "/dev/full",
    "/proc/self/mem",
    "~nouser/x",
    "y" * 300,
    "new.csv",
    "new.parquet",
    "new.jsonl",
    "new.html",
    "new.svg",
    "loop",
    "locked",
    "a\nb.csv",
    "-",
    "weird\udcff.csv",
]
PAIRS = [
    "label=x",
    "premise=a,hypothesis=b",
    "0=yes",
    "=",
    "a=b=c",
    "label",
    "score>3",
    "cues.min_count=3",
    "cues.x=1",
    "epochs=-1",
]

#: What every verb takes: its arguments, and the kind of value of each option.
DATA_OPTIONS = {
    "--test": PATHS,
    "--task": ["pair", "choice", "text", "x"],
    "--columns": PAIRS,
    "--labels": PAIRS,
    "--label-file": PATHS,
    "--header": ["none", "a,b,c", ""],
    "--on-error": ["skip", "stop", "x"],
    "--max-skipped": NUMBERS,
    "--holdout": NUMBERS,
    "--cluster": NAMES,
    "--seed": NUMBERS,
}
RUN = {"--only": NAMES, "--skip": NAMES, "--set": PAIRS, "--out": PATHS, "--weights": NAMES}
VERBS: dict[str, tuple[list[list[str]], dict[str, list[str]]]] = {
    "audit": (
        [PATHS],
        {**DATA_OPTIONS, **RUN, "--features": NAMES, "--min-count": NUMBERS, "--learner": NAMES},
    ),
    "probe": (
        [PATHS],
        {**DATA_OPTIONS, **RUN, "--predictions": PATHS, "--cues": NAMES, "--top": NUMBERS, "--model": NAMES},
    ),
    "debias": (
        [PATHS],
        {
            **DATA_OPTIONS,
            "--out": PATHS,
            "--report": PATHS,
            "--method": ["lexical", "neutral", "x"],
            "--card": PATHS,
        }
        | {"--min-count": NUMBERS, "--ridge": NUMBERS, "--max-weight": NUMBERS, "--ngrams": NUMBERS},
    ),
    "correct": (
        [PATHS],
        {**DATA_OPTIONS, "--predictions": PATHS, "--out": PATHS, "--aim": ["gap", "worst-group", "x"]}
        | {"--strength": NUMBERS, "--expert": NAMES, "--per-label": NUMBERS},
    ),
    "stress": (
        [PATHS],
        {**DATA_OPTIONS, "--out": PATHS, "--kind": ["hard", "identical-pairs", "x"], "--sample": NUMBERS},
    ),
    "train": (
        [PATHS],
        {**DATA_OPTIONS, "--out": PATHS, "--model": NAMES, "--epochs": NUMBERS, "--subset": NUMBERS},
    ),
    "explain": ([NAMES, PATHS], {**DATA_OPTIONS, "--examples": NUMBERS}),
    "check": (
        [PATHS],
        {**DATA_OPTIONS, "--policy": PATHS, "--out": PATHS, "--ratchet": PATHS, "--baseline": PATHS},
    ),
    "peco": ([PATHS], {"--columns": PAIRS, "--chart": PATHS, "--permutations": NUMBERS, "--seed": NUMBERS}),
    "compare": ([PATHS, PATHS], {"--chart": PATHS, "--show": NUMBERS}),
    "report": ([PATHS], {"--out": PATHS}),
    "export": (
        [PATHS],
        {"--format": ["croissant", "hf-card", "badge", "issue"], "--out": PATHS, "--finding": NAMES},
    ),
    "plan": ([PATHS], {**DATA_OPTIONS, "--goal": ["cues.cues == 0", "x"], "--out": PATHS, "--apply": PATHS}),
    "datasets": ([NAMES], {}),
    "ask": (
        [PATHS],
        {**DATA_OPTIONS, "--out": PATHS, "--endpoint": ["http://127.0.0.1:9/v1", "x"], "--model": NAMES},
    ),
    "reproduce": (
        [["stubborn", "selection", "x"], PATHS],
        {**DATA_OPTIONS, "--out": PATHS, "--seeds": NUMBERS},
    ),
    "demo": ([], {"--rows": [*NUMBERS, "200"], "--out": PATHS, "--seed": NUMBERS, "--kind": NAMES}),
}
FLAGS = ["--json", "--quiet", "--help", "--no-cache", "--x", "--balanced", "--init"]


@dataclass(frozen=True)
class Command:
    """A command line, what standard output is ("" for a file), and the largest file that can be written."""

    arguments: list[str]
    stdout: str = ""
    largest_file: int | None = None


def command(rng: random.Random) -> Command:
    """Return a command line of a random verb; a part of its values is right, so that verbs also get to work."""
    verb = rng.choice(list(VERBS))
    positional, options = VERBS[verb]
    arguments = [verb]
    for values in positional:
        right = "card" if verb in ("report", "compare", "export") else "train.csv"
        arguments.append(right if values is PATHS and rng.random() < 0.7 else rng.choice(values))
    if verb == "demo":
        arguments += ["--rows", "200"]
    if verb in ("audit", "probe") and rng.random() < 0.7:
        arguments += ["--only", "overview"]
    if verb in ("debias", "correct", "stress", "train", "ask") and rng.random() < 0.7:
        arguments += ["--out", "new.csv" if verb in ("debias", "correct", "ask") else "new"]
    for name in rng.sample(list(options), min(len(options), rng.randrange(4))):
        arguments += [name, rng.choice(options[name])]
    if rng.random() < 0.3:
        arguments.append(rng.choice(FLAGS))
    if rng.random() < 0.05:
        rng.shuffle(arguments)
    stdout = rng.choice(["/dev/full", "closed", "pipe"]) if rng.random() < 0.15 else ""
    return Command(arguments, stdout, rng.choice([0, 500, 20_000, 1 << 20]) if rng.random() < 0.15 else None)


def fill(folder: Path, card: Path) -> None:
    """Put data, a card and odd places into a folder in which a command runs."""
    with (folder / "train.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["premise", "hypothesis", "label"])
        rows.writerows(
            [f"premise {i}", f"hypothesis {i % 7} {'no' if i % 3 else ''}", "yes" if i % 2 else "no"]
            for i in range(80)
        )
    (folder / "data").mkdir()
    shutil.copy(folder / "train.csv", folder / "data" / "part.csv")
    (folder / "empty.csv").touch()
    (folder / "locked").mkdir(mode=0o500)
    (folder / "loop").symlink_to("loop")
    shutil.copytree(card, folder / "card")
