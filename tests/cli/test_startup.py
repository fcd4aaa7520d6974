from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "altair", "torch", "pyarrow", "polars", "numba", "scipy", "numpy")

LOOK = """
import sys
from cuecard.cli.main import app
try:
    app({arguments!r})
except SystemExit:
    pass
print("LOADED", *[name for name in {heavy!r} if name in sys.modules])
"""


@pytest.mark.parametrize("arguments", [["--help"], ["audit", "--help"], ["demo", "--help"], ["--version"]])
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
