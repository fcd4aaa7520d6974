"""Standard output that is closed, full or read no further, and disks that fill up while a verb writes."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cuecard.cli import streams
from cuecard.run.workspace import CONTINUES
from pace import PATIENCE
from small_sets import pair_instances

sys.path.append(str(Path(__file__).parents[2] / "scripts"))

from fuzzing.commands import fill
from fuzzing.stopping import WRITERS

ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]
FULL = Path("/dev/full")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell in which `cuecard` is this package's command."""
    script = f'cuecard() {{ "{sys.executable}" -m cuecard "$@"; }}\n{line}'
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
    return subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env=environment, timeout=PATIENCE
    )


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", ["datasets", "datasets --json", "--help"])
def test_a_full_standard_output_is_one_sentence(arguments):
    ran = shell(f"cuecard {arguments} > /dev/full")
    assert ran.returncode == 2
    assert ran.stderr == (
        "cuecard: Standard output cannot be written (No space left on device): redirect it elsewhere, or add "
        "--quiet.\n"
    )


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
def test_nothing_is_written_where_nothing_can_be_printed(tmp_path):
    pair_instances(ROWS).table.drop("split").write_csv(tmp_path / "train.csv")
    ran = shell(f"cd {tmp_path}; cuecard audit train.csv --only cues --out card > /dev/full")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_a_closed_standard_output_is_an_error_unless_nothing_is_printed():
    ran = shell("cuecard tools datasets >&-")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "it is closed" in ran.stderr
    ran = shell("cuecard tools datasets --quiet >&- 2>&- <&-")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_reader_that_goes_away_is_no_error():
    ran = shell("cuecard tools datasets --json | head -1; echo ${PIPESTATUS[0]}")
    assert (ran.stdout, ran.stderr) == ("[\n0\n", "")


#: Every verb that writes, as killed and interrupted runs have them, and other formats and places of some.
VERBS = {
    **{name: [*writing.arguments] for name, writing in WRITERS.items()},
    "debias rows": ["debias", "train.csv", "--min-count", "2", "--out", "new.parquet"],
    "pairs as lines": [*WRITERS["pairs"].arguments[:-1], "new.jsonl"],
    "report elsewhere": ["report", "card", "--out", "new.html"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with data, a card and a worksheet, and with nothing that a verb writes."""
    from cuecard.card import save_card
    from cuecard.run import audit

    card = save_card(audit(pair_instances(ROWS), only=["cues"]), tmp_path_factory.mktemp("card"))
    folder = tmp_path_factory.mktemp("files")
    fill(folder, card.parent)
    return folder


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("verb", VERBS)
def test_a_disk_that_fills_up_while_a_verb_writes_leaves_everything_as_it_was(
    cuecard, files, verb, monkeypatch
):
    monkeypatch.chdir(files)
    monkeypatch.setattr("cuecard.limits._check_room", lambda *_: None)
    if verb == "apply":
        assert cuecard(*WRITERS["apply"].first).code == 0
    before = everything(files)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (0, 20):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            ran = cuecard(*VERBS[verb])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert ran.code == 2, ran.err
        assert ran.err.count("\n") == 1
        assert "cannot be written (File too large)" in ran.err
        assert everything(files) == before


def test_a_library_may_ask_at_the_end_whether_standard_output_is_a_terminal():
    ended = streams._Guarded(io.BytesIO(), encoding="utf-8")
    ended.detach()
    assert not ended.isatty()


INTERRUPTED = """
import sys, typer
from cuecard.cli.main import main
app = typer.Typer()
@app.command()
def verb():
    raise KeyboardInterrupt(SENTENCE)
sys.modules["cuecard.cli.main"].app = app
main()
"""


@pytest.mark.parametrize("sentence", ["", CONTINUES])
def test_an_interrupted_command_says_so_and_how_it_goes_on(sentence):
    code = INTERRUPTED.replace("SENTENCE", repr(sentence))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 130
    assert ran.stderr == f"cuecard: {sentence or 'interrupted'}\n"
