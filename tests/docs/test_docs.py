"""Every command and every Python block of the documentation runs as it is written."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from cuecard.data.demo import demo_choice, demo_nli, demo_predictions, write_demo

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


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
    codes = {"entailment": "0", "neutral": "1", "contradiction": "2"}
    pairs.with_columns(pl.col("label").replace(codes)).write_csv(folder / "numbered.csv")
    with (folder / "broken.csv").open("w") as broken:
        broken.write("premise,hypothesis,label\n" + "a,b,yes\nc,d,no\n" * 20 + "too,many,fields,here\n")
    questions = write_demo(demo_choice(300, seed=0), folder / "choice")
    renamed = pl.read_parquet(questions["train"]).rename(
        {"question": "stem", "choices": "options", "answer": "key"}
    )
    renamed.write_ndjson(folder / "qa.jsonl")
    return folder


def blocks(page: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(page.read_text(encoding="utf-8")) if name == language]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    return [line.removeprefix("$ ").strip() for line in lines if line.startswith("$ ")]


COMMANDS = [pytest.param(page, id=page.stem) for page in PAGES if commands(page)]
#: Packages of extras: where one is missing, a page's Python ends before the first block that imports it.
OPTIONAL = ("torch", "transformers")
#: Pages whose Python reads a file that their commands write.
FROM_COMMANDS = {ROOT / "docs" / "using-weights.md"}
PYTHON = [pytest.param(page, id=page.stem) for page in PAGES if blocks(page, "python")]


@pytest.mark.parametrize("page", COMMANDS)
def test_documented_commands_run_from_top_to_bottom(page, files, cuecard, monkeypatch):
    """One test per page: a command may read what an earlier one on its page wrote."""
    monkeypatch.chdir(files)
    for command in commands(page):
        words = shlex.split(command)
        assert words[0] == "cuecard"
        ran = cuecard(*words[1:])
        assert ran.code == 0, f"{command}: {ran.err}"


@pytest.mark.parametrize("page", PYTHON)
def test_documented_python_runs_from_top_to_bottom(page, files, cuecard, monkeypatch, capsys):
    monkeypatch.chdir(files)
    namespace: dict[str, object] = {}
    for command in [] if page not in FROM_COMMANDS else commands(page):
        assert cuecard(*shlex.split(command)[1:]).code == 0
    for block in blocks(page, "python"):
        for module in OPTIONAL:
            if re.search(rf"^(from|import) {module}\b", block, re.MULTILINE):
                pytest.importorskip(module)
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, page.stem, str(page), 0)
            assert doctest.DocTestRunner().run(test).failed == 0, capsys.readouterr().out
        else:
            exec(compile(block, str(page), "exec"), namespace)


def test_the_pages_have_commands_and_python_to_run():
    assert sum(len(commands(page)) for page in PAGES) >= 8
    assert len(PYTHON) >= 4


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
