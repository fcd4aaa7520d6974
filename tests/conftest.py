"""What all tests share: where real data lies, and the reason for skipping where it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from cuecard.data import Instances

SHARED = Path(__file__).resolve().parents[2] / "shared"


def _shared(kind: str) -> Callable[[str], Path]:
    def find(relative: str) -> Path:
        path = SHARED / kind / relative
        if not path.exists():
            pytest.skip(f"real data {kind}/{relative} is not beside this checkout")
        return path

    return find


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Path of a real dataset file such as "snli/test.parquet"; skips where it is absent."""
    return _shared("data")


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Path]:
    """Path of a file of published numbers such as "paper_tables.json"; skips where it is absent."""
    return _shared("oracles")


def pair_instances(rows: list[tuple[str, str, str, str]], name: str = "pairs") -> Instances:
    """Instances from (split, premise, hypothesis, label) rows."""
    labels = tuple(sorted({row[3] for row in rows}))
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(len(rows))],
            "position": pl.Series([0] * len(rows), dtype=pl.Int32),
            "split": [row[0] for row in rows],
            "premise": [row[1] for row in rows],
            "hypothesis": [row[2] for row in rows],
            "label": pl.Series([row[3] for row in rows], dtype=pl.Enum(labels)),
        }
    )
    return Instances(table, "pair", labels, name)


def choice_instances(questions: list[tuple[str, str, list[str], int]], name: str = "choices") -> Instances:
    """Instances from (split, question, choices, answer) questions."""
    rows = [
        (str(q), position, split, premise, choice, "right" if position == answer else "wrong")
        for q, (split, premise, choices, answer) in enumerate(questions)
        for position, choice in enumerate(choices)
    ]
    columns = ["example_id", "position", "split", "premise", "hypothesis", "label"]
    schema = dict.fromkeys(columns, pl.String) | {
        "position": pl.Int32,
        "label": pl.Enum(["right", "wrong"]),
    }
    return Instances(pl.DataFrame(rows, schema=schema, orient="row"), "choice", ("right", "wrong"), name)


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture
def cuecard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a `cuecard` command line in this process."""
    from cuecard.cli import main

    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["cuecard", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run
