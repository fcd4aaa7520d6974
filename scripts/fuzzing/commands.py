"""Command lines that are odd, wrong, or run where nothing can be written, each made from its seed.

Verbs and options are those of the command line itself, so that a new one is tried without being named here.
"""

from __future__ import annotations

import csv
import os
import random
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

#: Values for options that take a number, a name, a path, or pairs; most of them wrong.
NUMBERS = ["0", "1", "2", "-1", "0.5", "1e400", "nan", "x", "", "99999999999999999999", "300", "-0"]
NAMES = [
    *(
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
    ),
    *(
        "a" * 300,
        "\udcff",
        "cues.cues == 0",
        "label",
        "hypothesis",
        "http://127.0.0.1:9/v1",
        "preset:x",
        "hf:x:y",
    ),
]
PATHS = [
    *(
        "new",
        "new/deep/er",
        "train.csv",
        "data",
        "data/new",
        "card",
        "card/tables",
        "card/card.json",
        "empty.csv",
    ),
    *(
        "nothing.csv",
        "",
        " ",
        ".",
        "..",
        "/dev/null",
        "/dev/full",
        "/proc/self/mem",
        "~nouser/x",
        "y" * 300,
        "new.csv",
    ),
    *(
        "new.parquet",
        "new.jsonl",
        "new.html",
        "new.svg",
        "new.png",
        "loop",
        "looped",
        "locked",
        "a\nb.csv",
        "-",
    ),
    *(
        "weird\udcff.csv",
        "übung – 数据.csv",
        "policy.toml",
        "sheet.csv",
        "accepted.json",
        "template.j2",
        "README.md",
    ),
    *("NAME=train.csv", "=", "name=", "preset:x", "hf:x:y", "http://127.0.0.1:9/x.csv"),
]
PAIRS = [
    *(
        "label=x",
        "premise=a,hypothesis=b",
        "0=yes",
        "=",
        "a=b=c",
        "label",
        "score>3",
        "cues.min_count=3",
        "cues.x=1",
    ),
    *("epochs=-1", "label=label,cluster=hypothesis", "x=[", "cues.min_count=1e400", "\x1b=\x1b"),
]
#: What stands for a path in a help text; other words stand for names.
_OF_PATHS = ("FILE", "DIR", "CARD", "TRAIN", "TEST", "DEV", "OTHER")
#: What opens a window, or takes minutes where a value is right.
_LEFT_OUT = {"--open", "--install-completion", "--show-completion", "--learner", "--embed", "--trade-off"}
#: Arguments and options with which a verb gets to work on the files of `fill`.
RIGHT: dict[str, list[str]] = {
    "audit": ["train.csv", "--only", "overview"],
    "probe": [
        *("train.csv", "--test", "test.csv", "--only", "permutation_test"),
        *("--predictions", "predictions.csv"),
    ],
    "debias": ["train.csv", "--out", "new.csv", "--min-count", "2"],
    "correct": [
        *(
            "train.csv",
            "--test",
            "test.csv",
            "--predictions",
            "predictions.csv",
            "--cues",
            "no",
            "--out",
            "new.csv",
        ),
    ],
    "overlap": ["train.csv", "--with", "test.csv"],
    "board": ["card"],
    "stress": ["train.csv", "--out", "new", "--holdout", "0.3"],
    "train": ["train.csv", "--out", "new", "--holdout", "0.3"],
    "explain": ["no", "train.csv"],
    "check": ["card", "--policy", "policy.toml"],
    "papers peco": ["clusters.csv"],
    "compare": ["card", "card"],
    "report": ["card"],
    "export": ["card", "--format", "hf-card"],
    "plan": [
        "train.csv",
        "--goal",
        "cues.cues == 0",
        "--budget",
        "2",
        "--method",
        "random",
        "--out",
        "new.csv",
    ],
    "ask": ["train.csv", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--out", "new.csv"],
    "demo": ["--rows", "400", "--clean", "--out", "new"],
    "serve": ["--port", "28477"],
    "tools datasets": [],
    "papers stubborn": ["train.csv", "--holdout", "0.3", "--model", "linear", "--schemes", "uniform"],
    "papers selection": ["train.csv", "--holdout", "0.3", "--model", "linear"],
}


@dataclass(frozen=True)
class Command:
    """A command line and where it runs.

    `stdout` is what standard output is ("" for a file), `encoding` its encoding, `columns` the width of the terminal,
    and `largest_file` how many bytes a file can have.
    """

    arguments: list[str]
    stdout: str = ""
    largest_file: int | None = None
    encoding: str = "utf-8"
    columns: str = "100"


@dataclass(frozen=True)
class Parameter:
    """An argument (without names) or an option of a verb, and what to try as its value: nothing for a flag."""

    names: tuple[str, ...]
    values: tuple[str, ...]


@cache
def verbs() -> dict[str, list[Parameter]]:
    """Return the parameters of every verb, as the command line declares them."""
    from cuecard.cli.main import app

    def parameters(group: Any, before: str) -> Iterator[tuple[str, list[Parameter]]]:
        for one in group.registered_commands:
            hints = get_type_hints(one.callback, include_extras=True)
            declared = [_parameter(hint) for hint in hints.values() if get_origin(hint) is Annotated]
            yield (
                f"{before} {one.name or one.callback.__name__}".strip(),
                [one for one in declared if not _LEFT_OUT & {*one.names}],
            )
        for below in group.registered_groups:
            yield from parameters(below.typer_instance, f"{before} {below.name}".strip())

    return dict(parameters(app, ""))


def _parameter(hint: Any) -> Parameter:
    kind, declared = get_args(hint)[:2]
    # In an annotation, the first name stands where the default is otherwise.
    written = [name for name in (declared.default, *(declared.param_decls or ())) if isinstance(name, str)]
    names = tuple(part for name in written for part in name.split("/") if part.startswith("-"))
    return Parameter(
        names, () if kind in (bool, bool | None) else tuple(_values(kind, declared.metavar or ""))
    )


def _values(kind: Any, metavar: str) -> list[str]:
    """Return what to try for a value of a type that the help calls by a name."""
    inner = [part for one in (kind, *get_args(kind)) for part in (one, *get_args(one))]
    if choices := [choice for one in inner if get_origin(one) is Literal for choice in get_args(one)]:
        return [*choices, "x", ""]
    if int in inner or float in inner:
        return NUMBERS
    if "=" in metavar:
        return PAIRS
    return PATHS if any(word in metavar for word in _OF_PATHS) else NAMES


def command(rng: random.Random) -> Command:
    """Return a command line of a random verb; most begin with what is right, so that verbs also get to work."""
    verb = rng.choice(sorted(verbs()))
    arguments = verb.split()
    positional = [one for one in verbs()[verb] if not one.names]
    options = [one for one in verbs()[verb] if one.names]
    if rng.random() < 0.7:
        right = list(RIGHT.get(verb, ["train.csv"]))
        if right and rng.random() < 0.3:
            right[rng.randrange(len(right))] = rng.choice(PATHS)
        arguments += right
    else:
        arguments += [rng.choice(one.values) for one in positional]
    for one in rng.sample(options, min(len(options), rng.randrange(4))):
        arguments.append(rng.choice(one.names))
        arguments += [rng.choice(one.values)] if one.values else []
    if rng.random() < 0.05:
        arguments.append(rng.choice(["--x", "--help", "--", "-", ""]))
    if rng.random() < 0.05:
        rng.shuffle(arguments)
    return Command(
        arguments,
        rng.choice(["/dev/full", "closed", "pipe"]) if rng.random() < 0.15 else "",
        rng.choice([0, 500, 20_000, 1 << 20]) if rng.random() < 0.15 else None,
        rng.choice(["cp1252", "ascii", "utf-8"]),
        rng.choice(["0", "1", "20", "100", "x"]),
    )


POLICY = "[rules]\n'findings.high' = '== 0'\n"


def write_rows(path: Path, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    """Write rows as a CSV file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _pair(i: int) -> tuple[str, str, str]:
    """Return premise, hypothesis and label of a row; "no" goes with a label."""
    cue = "no" if i % 3 else "so"
    return f"premise {i} of a few words", f"hypothesis {i % 7} {cue}", "yes" if i % 2 else "no"


def fill(folder: Path, card: Path) -> None:
    """Put data, a card and odd places into a folder in which a command runs."""
    write_rows(folder / "train.csv", ["premise", "hypothesis", "label"], map(_pair, range(80)))
    write_rows(
        folder / "test.csv",
        ["id", "premise", "hypothesis", "label"],
        ((i, *_pair(i)) for i in range(75, 135)),
    )
    write_rows(
        folder / "predictions.csv",
        ["id", "prediction", "p_no", "p_yes"],
        ((i, "yes", 0.3, 0.7) if i % 5 else (i, "no", 0.8, 0.2) for i in range(75, 135)),
    )
    write_rows(
        folder / "clusters.csv",
        ["cluster", "label", "x", "y"],
        ((f"c{i % 4}", "yes" if i % 2 else "no", i % 7, i % 9) for i in range(80)),
    )
    (folder / "data").mkdir()
    shutil.copy(folder / "train.csv", folder / "data" / "part.csv")
    shutil.copy(folder / "train.csv", folder / "übung – 数据.csv")
    (folder / "empty.csv").touch()
    (folder / "policy.toml").write_text(POLICY)
    (folder / "template.j2").write_text("{{ premise }} {{ hypothesis }}")
    (folder / "README.md").write_text("# Mine\n")
    (folder / "locked").mkdir(mode=0o500)
    (folder / "loop").symlink_to("loop")
    (folder / "looped").mkdir()
    shutil.copy(folder / "train.csv", folder / "looped" / "train.csv")
    (folder / "looped" / "again").symlink_to(os.pardir)
    shutil.copytree(card, folder / "card")
