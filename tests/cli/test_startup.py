from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "altair", "torch", "pyarrow", "polars", "scipy", "numpy")

LOOK = """
import sys
from cuecard.cli.main import app
try:
    app({arguments!r})
except SystemExit:
    pass
print("LOADED", *[name for name in {heavy!r} if name in sys.modules])
"""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["audit", "--help"], ["ask", "--help"], ["demo", "--help"], ["--version"]]
)
def test_help_is_quick_because_it_imports_nothing_heavy(arguments):
    code = LOOK.format(arguments=arguments, heavy=HEAVY)
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "LOADED"


def test_import_cuecard_is_quick_and_its_names_appear_at_first_use():
    code = f"import sys, cuecard; print([n for n in {HEAVY!r} if n in sys.modules]); cuecard.load; print(dir(cuecard))"
    lines = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert lines[0] == "[]"
    assert "audit" in lines[1]


#: What a run that only counts cues and prints them must not load, and what loads it.
NOT_FOR_CUES = {
    "altair": "charts of the report",
    "vl_convert": "the chart library of the report",
    "jinja2": "the report",
    "sklearn": "clusters and embeddings",
    "pandas": "sklearn",
    "scipy.stats": "tests of other sections",
    "scipy.optimize": "remedies and stratified tails",
    "scipy.sparse.csgraph": "held-out splits and folds",
    "torch": "trained models",
    "cuecard.probes": "probing",
    "cuecard.audits.pair_graph": "the pair graph",
    "cuecard.audits.partial_input": "partial input",
    "cuecard.remedies": "debiasing",
    "cuecard.models.neural": "trained models",
    "cuecard.models.ngram_models": "trained models",
}


def test_an_audit_of_cues_on_the_terminal_imports_only_what_it_needs(tmp_path):
    words = ("nobody runs", "a man sleeps", "somebody sings here")
    rows = [f"the premise {i},{words[i % 3]},{'abc'[i % 3]}" for i in range(60)]
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(["premise,hypothesis,label", *rows]))
    arguments = ["audit", str(file), "--only", "cues"]
    code = LOOK.format(arguments=arguments, heavy=tuple(NOT_FOR_CUES))
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "nobody" in shown
    assert shown.splitlines()[-1] == "LOADED"


def _cuecard(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuecard", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_the_process_ends_with_the_exit_code_and_everything_it_printed():
    shown = _cuecard("--version")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("cuecard ")
    wrong = _cuecard("audit", "no_such_file.csv")
    assert wrong.returncode == 2
    assert "no_such_file.csv" in wrong.stderr


def test_the_process_runs_what_is_registered_for_its_end():
    code = """
import atexit, sys
from cuecard.__main__ import run
atexit.register(lambda: print("the end"))
sys.argv = ["cuecard", "--version"]
run()
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert shown.returncode == 0
    assert shown.stdout.splitlines()[-1] == "the end"


def test_a_thread_that_still_works_is_waited_for():
    code = """
import threading, time
import cuecard.cli
from cuecard.__main__ import run
work = threading.Thread(target=lambda: (time.sleep(0.2), print("done", flush=True)))
cuecard.cli.main = work.start
run()
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout) == (0, "done\n")


#: What takes longer to import than a small file takes to read.
AFTER_READING = ("cuecard.run", "cuecard.audits.cues", "cuecard.report", "altair", "sklearn", "scipy.stats")


def test_what_was_read_is_the_first_line_and_waits_for_no_analysis(tmp_path):
    rows = [f"the premise {i},somebody sings {i % 7},{'abc'[i % 3]}" for i in range(60)]
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_text("\n".join(["sentence1,sentence2,gold_label", *rows]))
    code = f"""
import os, sys
import typer
from cuecard.cli.main import app
sys.stderr.isatty = lambda: True
echo = typer.echo
def first(line, **options):
    echo(line)
    print("LOADED", *[name for name in {AFTER_READING!r} if name in sys.modules], flush=True)
    os._exit(0)
typer.echo = first
app({["audit", str(tmp_path / "train.csv"), "--test", str(tmp_path / "test.csv")]!r})
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [
        "Read 60 training and 60 test examples. Task: pair. "
        "Columns: premise = sentence1, hypothesis = sentence2, label = gold_label.",
        "The first example is read as: 'the premise 0' → 'somebody sings 0' (a)",
        "LOADED",
    ]


@pytest.mark.parametrize("quiet", ["--quiet", "--json"])
def test_what_was_read_is_not_said_where_only_the_result_is_wanted(tmp_path, quiet):
    rows = [f"the premise {i},somebody sings {i % 7},{'abc'[i % 3]}" for i in range(60)]
    (tmp_path / "train.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    shown = _cuecard("audit", "train.csv", "--only", "overview", quiet, cwd=tmp_path)
    assert (shown.returncode, shown.stderr, "Read 60" in shown.stdout) == (0, "", False)
