"""Every command and every Python block of the documentation runs as it is written."""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration.open_sets import about, problems

from cuecard.data.demo import demo_battles, demo_choice, demo_judge, demo_nli, demo_predictions, write_demo
from process_state import registries
from tool_logs import harness_line, inspect_log, inspect_sample

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Python, and what the page says that it prints.
PRINTS = re.compile(r"^```python\n([^`]*)^```\n\nIt prints:\n\n```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """The files that the pages speak of."""
    folder = tmp_path_factory.mktemp("docs")
    demo = demo_nli(1_500, seed=0)
    written = write_demo(demo, folder)
    demo_predictions(demo, follow=0.5).filter(pl.col("split") == "test").write_csv(folder / "bert.csv")
    pairs = pl.read_parquet(written["train"]).head(400)
    pairs.rename({"premise": "first", "hypothesis": "second", "label": "gold"}).write_csv(
        folder / "pairs.csv"
    )
    questions = write_demo(demo_choice(300, seed=0), folder / "choice")
    renamed = pl.read_parquet(questions["train"]).rename(
        {"question": "stem", "choices": "options", "answer": "key"}
    )
    renamed.write_ndjson(folder / "qa.jsonl")
    demo_battles(400, length=1.0, position=0.3, seed=0).write_ndjson(folder / "battles.jsonl")
    demo_judge(150, "length", seed=0).write_ndjson(folder / "verdicts.jsonl")
    (folder / "corpus").mkdir()
    (folder / "corpus" / "page.txt").write_text(
        "\n".join(pl.read_parquet(written["test"])["premise"].head(50))
    )
    orders = [
        {"order": "published", "logprob": -90.0},
        *({"order": str(i), "logprob": -99.0 - i} for i in range(19)),
    ]
    pl.DataFrame(orders).write_csv(folder / "logprobs.csv")
    _write_logs(pl.read_parquet(written["test"]), folder)
    _write_open_answers(folder)
    return folder


def _write_open_answers(folder: Path) -> None:
    """Write questions with answers in words, and those of a model that is right where the first sentence is."""
    rng = np.random.default_rng(0)
    passages = pl.DataFrame(about(rng, 200, lambda rng, one: one.candidates[int(rng.integers(0, 5))]))
    passages.write_ndjson(folder / "passages.jsonl")
    pl.DataFrame(problems(rng, 100)).write_ndjson(folder / "problems.jsonl")
    said = passages.select(
        response=pl.when(pl.int_range(pl.len()) % 3 > 0).then("answer").otherwise(pl.lit("?"))
    )
    said.write_ndjson(folder / "answers.jsonl")


def _write_logs(test: pl.DataFrame, folder: Path) -> None:
    """Write what lm-evaluation-harness and Inspect log of a model that is right four times of five."""
    labels = ["neutral", "entailment", "contradiction"]
    lines, samples = [], []
    for i, row in enumerate(test.select("id", "premise", "hypothesis", "label").to_dicts()):
        gold = labels.index(row["label"])
        said = gold if i % 5 else (gold + 1) % 3
        scores = [[str(-0.2 if k == said else -3.0 - k), "False"] for k in range(3)]
        lines.append(harness_line(i, row, str(gold), scores, acc=float(said == gold)))
        answer = {"value": "C", "answer": labels[said], "explanation": labels[said]}
        samples.append(inspect_sample(row["id"], row["label"], answer, "match"))
    (folder / "samples_my_nli.jsonl").write_text("".join(lines))
    inspect_log(folder / "inspect_log.json", samples, "match")


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    typed = [line.removeprefix("$ ").strip() for line in lines if line.startswith("$ ")]
    if page.parent == ROOT:  # the README shows commands without a prompt
        typed += [
            line for block in blocks(page, "") for line in block.splitlines() if line.startswith("cuecard ")
        ]
    return typed


COMMANDS = [pytest.param(page, id=page.stem) for page in PAGES if commands(page)]
#: Packages of extras: where one is missing, a page's Python ends before the first block that imports it.
OPTIONAL = {"torch": "models", "transformers": "models"}
#: Pages whose Python reads a file that their commands write.
FROM_COMMANDS = {ROOT / "docs" / "using-weights.md"}
PASTED = ROOT / "docs" / "quick-start.md"
PYTHON = [pytest.param(page, id=page.stem) for page in PAGES if page != PASTED and blocks(page, "python")]


@pytest.mark.parametrize("page", COMMANDS)
def test_documented_commands_run_from_top_to_bottom(page, files, cuecard, monkeypatch):
    """One test per page: a command may read what an earlier one on its page wrote."""
    monkeypatch.chdir(files)
    for command in commands(page):
        words = shlex.split(command, comments=True)
        assert words[0] == "cuecard"
        ran = cuecard(*words[1:])
        assert ran.code == 0, f"{command}: {ran.err}"


def test_the_quick_start_runs_when_pasted_from_top_to_bottom(tmp_path):
    """In an empty folder, in one shell and then one Python: what a reader has who pastes the page."""
    shell, python = ("".join(blocks(PASTED, language)) for language in ("sh", "python"))
    script = f"set -e\n{shell}python - <<'END'\n{python}END\n"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "CUECARD_CACHE": str(tmp_path / "cache")}
    ran = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "demo" / "data" / "out" / "card" / "report.html").is_file()


@pytest.fixture
def own_registrations(monkeypatch) -> None:
    """Forget what a page registers: a family of its own would count in every later audit of this process."""
    for registry in registries():
        registry.names()  # loads what is installed, which the tests after this one need
        monkeypatch.setattr(registry, "_items", dict(registry._items))


@pytest.mark.usefixtures("own_registrations")
@pytest.mark.parametrize("page", PYTHON)
def test_documented_python_runs_from_top_to_bottom(page, files, cuecard, monkeypatch, capsys):
    monkeypatch.chdir(files)
    namespace: dict[str, object] = {}
    printed = dict(PRINTS.findall(page.read_text(encoding="utf-8")))
    for command in [] if page not in FROM_COMMANDS else commands(page):
        assert cuecard(*shlex.split(command)[1:]).code == 0
    for block in blocks(page, "python"):
        for module, extra in OPTIONAL.items():
            if re.search(rf"^(from|import) {module}\b", block, re.MULTILINE):
                pytest.importorskip(module, reason=f"the page goes on with the extra {extra!r}")
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, page.stem, str(page), 0)
            assert doctest.DocTestRunner().run(test).failed == 0, capsys.readouterr().out
        else:
            capsys.readouterr()
            exec(compile(block, str(page), "exec"), namespace)
            assert capsys.readouterr().out == printed.get(block, ANY)


def test_the_notebook_runs_offline_and_shows_what_it_showed_when_it_was_stored(tmp_path, monkeypatch):
    def no_network(*_: object) -> None:
        raise AssertionError("the notebook opens a connection")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs" / "first-audit.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 6
    monkeypatch.syspath_prepend(ROOT / "scripts")
    run_cells = import_module("run_notebook").run_cells
    for cell, outputs in zip(cells, run_cells(["".join(cell["source"]) for cell in cells]), strict=True):
        assert [_said(output) for output in cell["outputs"]] == [_said(output) for output in outputs]
    stored = json.dumps([cell["outputs"] for cell in cells])
    assert "Hypothesis-only accuracy is" in stored
    assert "image/png" in stored


def _said(output: dict[str, Any]) -> str:
    """What an output of the notebook says in words; a picture is compared by eye."""
    return "".join(output.get("text") or output["data"]["text/plain"])


def test_the_pages_have_commands_and_python_to_run():
    assert sum(len(commands(page)) for page in PAGES) >= 8
    assert len(PYTHON) >= 4


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
