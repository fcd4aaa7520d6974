"""Install CueCard in empty environments, and run there what users run.

    python scripts/try_install.py minimum    # the lowest versions that pyproject.toml allows: core tests
    python scripts/try_install.py core       # no extras: core tests and the commands of the docs
    python scripts/try_install.py pythons    # the wheel and the core tests with each Python of PYTHONS
    python scripts/try_install.py runners    # `uvx --from .` and `pipx run --spec .`: the demo without an installation

Each environment is made in a temporary folder and removed again. TESTS may follow the name, as pytest takes them.
PYTHONS is an environment variable with commands such as `python3.11 python3.12 python3.13`; those it does not find are
named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Tests that need no extra: reading, text, features, statistics on the way to a card and its report.
CORE = ("tests/card", "tests/data", "tests/features", "tests/text", "tests/run", "tests/report")


def run(*command: object, **environment: str) -> None:
    """Run a command in the project's folder; a failure ends everything."""
    print("$", *command, flush=True)
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, env=kept | environment)


def environment(folder: Path, interpreter: str = sys.executable) -> Path:
    """Make an empty environment and return its Python."""
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--upgrade", "pip")
    return python


def interpreters(names: str) -> dict[str, str]:
    """Return the paths of Pythons by name; says which are not on this machine, and stops where none is."""
    paths = {name: shutil.which(name) for name in names.split()}
    works = {name: path for name, path in paths.items() if path and _runs(path)}
    for name in paths.keys() - works.keys():
        print(f"{name} is not on this machine: not tried.", flush=True)
    if not works:
        sys.exit(f"None of {', '.join(paths)} is on this machine. Name others: PYTHONS='/path/to/python3.12'")
    return works


def _runs(interpreter: str) -> bool:
    return subprocess.run([interpreter, "--version"], capture_output=True, check=False).returncode == 0


def pythons(folder: Path, tests: Sequence[str]) -> None:
    """Build, install and try a wheel with each Python of PYTHONS, and run the core tests there."""
    for name, interpreter in interpreters(
        os.environ.get("PYTHONS", "python3.11 python3.12 python3.13")
    ).items():
        python = environment(folder / Path(name).name, interpreter)
        run(python, "-m", "pip", "install", "-q", "-c", "constraints.txt", ".", "--group", "core-test")
        run(python, "-m", "pip", "check")
        out = folder / "demo" / Path(name).name
        run(python.parent / "cuecard", "demo", "--out", out, "--quiet", CUECARD_CACHE=str(folder / "cache"))
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *(tests or CORE))


def minimum(folder: Path, tests: Sequence[str]) -> None:
    """Run the core tests with the lowest versions of all direct dependencies."""
    python = environment(folder / "minimum")
    run(python, "-m", "pip", "install", "-q", "uv", "pip>=25.1")
    run(python.parent / "uv", "pip", "install", "-q", "--python", python, "--resolution", "lowest-direct",
        "-e", ".", "--group", "core-test")  # fmt: skip
    run(python, "-m", "pip", "check")
    run(python, "-m", "pytest", "-q", "-m", "not slow", *(tests or CORE))


def core(folder: Path, tests: Sequence[str]) -> None:
    """Run the core tests and the docs where no extra is installed."""
    python = environment(folder / "core")
    run(
        python, "-m", "pip", "install", "-q", "-c", "constraints.txt", "-e", ".", "--group", "core-test"
    )  # fmt: skip
    run(python, "-m", "pip", "check")
    run(python, "-m", "pytest", "-q", "-m", "not slow", *(tests or (*CORE, "tests/docs")))


def runners(folder: Path, tests: Sequence[str]) -> None:
    """Run the demo from this checkout with uvx and with pipx, which make environments of their own."""
    del tests  # the demo is the test
    programs = environment(folder / "runners").parent
    run(programs / "python", "-m", "pip", "install", "-q", "uv", "pipx")
    own = {
        "CUECARD_CACHE": str(folder / "cache"),
        "PIPX_HOME": str(folder / "pipx"),
        "UV_PYTHON": sys.executable,
    }
    demo = ("cuecard", "demo", "--quiet", "--out")
    run(programs / "uvx", "--from", ".", *demo, folder / "by-uvx", **own)
    run(programs / "pipx", "run", "--python", sys.executable, "--spec", ".", *demo, folder / "by-pipx", **own)
    for name in ("by-uvx", "by-pipx"):
        if not (folder / name / "report.html").is_file():
            sys.exit(f"{name} wrote no report.")


if __name__ == "__main__":
    ways = {"minimum": minimum, "core": core, "pythons": pythons, "runners": runners}
    if len(sys.argv) < 2 or sys.argv[1] not in ways:
        sys.exit(f"Usage: python scripts/try_install.py {'|'.join(ways)} [TESTS]")
    with tempfile.TemporaryDirectory() as place:
        ways[sys.argv[1]](Path(place), sys.argv[2:])
