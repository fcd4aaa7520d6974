"""Every command that is printed, or that a report or the app shows, runs on the data it was printed for."""

from __future__ import annotations

import html
import json
import random
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import cuecard as cc
from cuecard.data import Instances
from cuecard.report.first_screen import answers
from cuecard.run.next_commands import OPTIONS_OF_ROWS, arguments_in, next_commands
from cuecard.web.forms import equivalent, reading_of
from cuecard.web.preparing import load_reading

#: What stands for something of the user's in a printed command.
PLACEHOLDERS = {"FILE": "predictions.csv", "NEW": "new", "NAME=SCORES.csv": "model=scores.csv"}


class Shape(NamedTuple):
    """Files that a user may have, and the options that read them."""

    write: Callable[[], None]
    data: tuple[str, ...]


def _rows(n: int, seed: int = 0) -> Iterator[tuple[str, str, int]]:
    """A text, another one and a label that "never" gives away."""
    rng = random.Random(seed)
    for i in range(n):
        label = rng.randrange(2)
        words = [f"w{rng.randrange(15)}" for _ in range(5)]
        if rng.random() < (0.8 if label else 0.1):
            words.insert(rng.randrange(5), "never")
        yield f"source {i} of {rng.randrange(9)} texts", " ".join(words), label


def _pairs(path: str, names: tuple[str, str, str], n: int = 160, seed: int = 0) -> None:
    rows = [(first, second, ("no", "yes")[label]) for first, second, label in _rows(n, seed)]
    pl.DataFrame(rows, schema=list(names), orient="row").write_csv(path)


def _headless() -> None:
    rows = [(first, second, ("no", "yes")[label]) for first, second, label in _rows(160)]
    pl.DataFrame(rows, orient="row").write_csv("pairs.tsv", separator="\t", include_header=False)


def _labels_to_join() -> None:
    rows = [
        (first, second, (("no", "NO"), ("yes", "Y"))[y][i % 2])
        for i, (first, second, y) in enumerate(_rows(160))
    ]
    pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row").write_csv("mixed.csv")


def _texts() -> None:
    pl.DataFrame([row[1:] for row in _rows(160)], schema=["text", "label"], orient="row").write_csv(
        "texts.csv"
    )


def _choices() -> None:
    rng = random.Random(1)
    with Path("qa.jsonl").open("w") as file:
        for i, (question, text, _) in enumerate(_rows(120)):
            right = rng.randrange(3)
            options = [
                f"{text.replace('never', 'w3')} {c}" + (" never" if c == right and i % 3 else "")
                for c in range(3)
            ]
            file.write(json.dumps({"question": question, "choices": options, "answer": right}) + "\n")


def _preferences() -> None:
    with Path("responses.jsonl").open("w") as file:
        for prompt, text, _ in _rows(120):
            other = f"w{len(text) % 15} {text[5:12]} never" if "w3" in text else "w1 w2"
            file.write(json.dumps({"prompt": prompt, "chosen": text, "rejected": other}) + "\n")


def _split(names: tuple[str, str, str]) -> Callable[[], None]:
    def write() -> None:
        _pairs("train set.csv", names)
        _pairs("it's a test.csv", names, 60, seed=5)

    return write


PLAIN = ("premise", "hypothesis", "label")
SHAPES = {
    "columns": Shape(
        lambda: _pairs("a.csv", ("aa", "bb", "cc")),
        ("a.csv", "--columns", "premise=aa,hypothesis=bb,label=cc"),
    ),
    "header": Shape(_headless, ("pairs.tsv", "--header", "none")),
    "names": Shape(_headless, ("pairs.tsv", "--header", "premise,hypothesis,label")),
    "labels": Shape(_labels_to_join, ("mixed.csv", "--labels", "NO=no,Y=yes")),
    "texts": Shape(_texts, ("texts.csv",)),
    "choices": Shape(_choices, ("qa.jsonl",)),
    "preferences": Shape(_preferences, ("responses.jsonl",)),
    "test": Shape(
        _split(("x y", "it's", "cc")),
        ("train set.csv", "--test", "it's a test.csv", "--columns", "premise=x y,hypothesis=it's,label=cc"),
    ),
    "holdout": Shape(lambda: _pairs("a.csv", PLAIN), ("a.csv", "--holdout", "0.25", "--seed", "3")),
}


@pytest.fixture
def at_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def commands_in(text: str) -> list[str]:
    """Return the commands of a printed text, each to the end of its line, of a page each in its code."""
    found = re.findall(r"(?:^|Next: +|: |^ {8})(cuecard [a-z]+ .*)$", text, re.MULTILINE)
    return [re.sub(r" {2,}\(.*\)$", "", command) for command in found]


def commands_of_page(page: str) -> list[str]:
    """Return the commands that a page shows."""
    shown = re.findall(r"<code[^>]*>(cuecard .*?)</code>", page, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", command)) for command in shown]


def commands_of_card(folder: Path) -> list[str]:
    """Return the commands of a card, of its report, and of the pages of the app."""
    card = cc.load_card(folder)
    commands = [step[0] for step in next_commands(card)]
    commands += [finding.command for finding in card.findings]
    commands += [answer.command for answer in answers(card)]
    about = next(iter(card.sections.values())).about
    pages = {"data": ("cue", "models", "remedies"), "models": ("models",)}.get(about, ())
    commands += [
        equivalent(page, card.provenance.command, folder, Path.cwd(), feature="never") for page in pages
    ]
    commands += commands_of_page((folder / "report.html").read_text())
    return [command for command in commands if command]


def loaded(data: Sequence[str]) -> Instances:
    """Return what the options of a shape read."""
    reading = reading_of(shlex.join(["cuecard", "audit", *data]))
    assert reading is not None
    return load_reading(reading, Path.cwd())


def train_alone(data: Sequence[str]) -> list[str]:
    """Return the options that read the training rows alone."""
    return [part for one in arguments_in(data) if one.option in ("", *OPTIONS_OF_ROWS) for part in one.words]


def write_predictions(data: Instances) -> None:
    """Write right answers to what is evaluated: what `FILE` stands for."""
    rows = data.test if "test" in data.splits else data
    table = (
        rows.table.filter(pl.col("label").cast(pl.String) != data.labels[-1]) if data.grouped else rows.table
    )
    prediction = (
        table["position"].cast(pl.String) if data.task == "choice" else table["label"].cast(pl.String)
    )
    table.select("example_id", prediction=prediction).write_csv("predictions.csv")


#: Shapes on which every verb runs; on the others, those that read rows with the options of the shape.
WHOLE = ("columns", "test", "choices")


@pytest.mark.parametrize("name", SHAPES)
def test_every_printed_command_runs_on_the_data_it_was_printed_for(name, cuecard, at_work):
    write, data = SHAPES[name]
    write()
    write_predictions(loaded(data))
    weighted = "w.csv" if "csv" in data[0] else "w.jsonl"
    started: list[tuple[str, ...]] = [
        ("audit", *data, "--only", "cues,partial_input", "--out", "report"),
        ("debias", *train_alone(data), "--reaudit", "none", "--out", weighted, "--report", "debiased"),
        (*("probe", *data, "--predictions", "predictions.csv"), "--only", "accuracy_test", "--out", "probed"),
    ]
    if name in WHOLE:
        started += [
            ("audit", *data, "--only", "cues"),
            ("plan", *data, "--goal", "cues.cues <= 0", "--out", "plan.csv"),
            ("check", *data, "--init"),
            ("export", "report", "--format", "issue"),
        ]
    if name in WHOLE[:2]:
        started.append(("stress", *data, "--kind", "identical-pairs", "--out", "identical.csv"))
    sources: dict[str, str] = {}
    for words in started:
        ran = cuecard(*words)
        assert ran.code == 0, (words, ran.err)
        sources |= dict.fromkeys(commands_in(ran.out), f"printed by {words[0]}")
    for folder in ("report", "probed", "debiased"):
        sources |= dict.fromkeys(commands_of_card(Path(folder)), f"on the card {folder}")
    if Path("identical.csv").exists():
        pl.read_csv("identical.csv").with_columns(score=0.5).write_csv("scores.csv")
    failed = {}
    for command in sources.keys() - {shlex.join(["cuecard", *words]) for words in started}:
        ran = cuecard(*(PLACEHOLDERS.get(word, word) for word in shlex.split(command)[1:]))
        if ran.code != 0:
            failed[command] = (sources[command], ran.err)
    assert not failed
    assert len(sources) >= 6
