"""Print how large the house is: lines, files, hops of a row, switches between kinds of datasets, functions.

    PYTHONPATH=src python scripts/house.py [--places]

Files that a row touches are counted by running `cuecard audit --only cues` on a small CSV with a test split and `--out`
under a profiler: a file counts if one of its functions is called, in any thread, while no module is being imported.
Calls into compiled modules count where the profiler sees them. `--places` also lists what was counted.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

#: The classes that are kinds of datasets, before and after they are one.
DATASET_KINDS = re.compile(r"(\w*Instances|\w*Dataset|DatasetSpec|Unread|CueStream|Scan|Stream)$")
MOST_PARAMETERS = 8
LONG = 60
#: The audit that was added last: its files are those that its name leads to.
NEWEST_AUDIT = "style"
#: Runs a command under the profiler and prints the files of the package that it reached.
TOUCHED = """
import os, sys, threading
package, arguments = sys.argv[1], sys.argv[2:]
touched, importing = set(), {}

def profile(frame, event, arg):
    code, thread = frame.f_code, threading.get_ident()
    if event == "c_call":
        home = sys.modules.get(getattr(arg, "__module__", None) or "")
        if home is not None and home.__name__.startswith("cuecard") and not importing.get(thread):
            touched.add(home.__file__)
    elif code.co_name == "<module>":
        importing[thread] = importing.get(thread, 0) + (event == "call") - (event == "return")
    elif event == "call" and code.co_filename.startswith(package) and not importing.get(thread):
        touched.add(code.co_filename)

from cuecard.cli import main
sys.argv = ["cuecard", *arguments]
threading.setprofile(profile)
sys.setprofile(profile)
try:
    main()
except SystemExit as end:
    code = end.code
finally:
    sys.setprofile(None)
    threading.setprofile(None)
if code:
    sys.exit(code)
print(*sorted(touched), sep="\\n")
"""


@dataclass
class House:
    """What is counted in the files of a package."""

    lines: int = 0
    files: int = 0
    uses_of_any: int = 0
    switches: list[str] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


def measure(package: Path) -> House:
    """Count lines, files, dataset switches, uses of Any and functions of all source files."""
    house = House()
    for path in sorted(file for ending in ("py", "pyx", "pxi") for file in package.rglob(f"*.{ending}")):
        source = path.read_text(encoding="utf-8")
        house.files += 1
        house.lines += source.count("\n")
        if path.suffix == ".py":
            _measure_source(house, ast.parse(source), path.relative_to(package).as_posix())
    return house


def _measure_source(house: House, tree: ast.Module, place: str) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "Any":
            house.uses_of_any += 1
        elif isinstance(node, ast.Call) and _asks_kind_of_dataset(node):
            house.switches.append(f"{place}:{node.lineno}")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            house.lengths.append((node.end_lineno or node.lineno) - node.lineno + 1)
            spec = node.args
            parameters = len([*spec.posonlyargs, *spec.args, *spec.kwonlyargs])
            parameters += (spec.vararg is not None) + (spec.kwarg is not None)
            if parameters > MOST_PARAMETERS and not place.startswith("cli/verbs/"):
                house.wide.append(f"{place}:{node.lineno} {node.name} ({parameters})")


def _asks_kind_of_dataset(node: ast.Call) -> bool:
    if not (isinstance(node.func, ast.Name) and node.func.id == "isinstance" and len(node.args) == 2):
        return False
    return any(DATASET_KINDS.match(one.id) for one in ast.walk(node.args[1]) if isinstance(one, ast.Name))


def touched_files(package: Path) -> list[str]:
    """Return the files of a package that an audit of cues executes beyond importing them."""
    from scripts.freezing.inputs import SPLITS, pairs

    with tempfile.TemporaryDirectory() as folder:
        paths = {split.name: Path(folder, f"{split.name}.csv") for split in SPLITS}
        for split in SPLITS:
            pairs(split).write_csv(paths[split.name])
        command = [
            "audit",
            paths["train"],
            "--test",
            paths["test"],
            "--only",
            "cues",
            "--out",
            Path(folder, "out"),
        ]
        done = subprocess.run(
            [sys.executable, "-c", TOUCHED, str(package), *map(str, command), "--quiet"],
            capture_output=True,
            text=True,
            check=True,
        )
    return [file.removeprefix(f"{package}/") for file in done.stdout.split("\n") if file]


def table(package: Path, touched: list[str]) -> Iterator[tuple[str, str]]:
    """Return the rows of the table: what is counted, and how much."""
    house = measure(package)
    src = package.parent
    beside = [path for path in src.glob("*/") if path != package and (path / "__init__.py").exists()]
    yield "lines of .py, .pyx and .pxi in src/cuecard", f"{house.lines:,}"
    yield "files of .py, .pyx and .pxi in src/cuecard", f"{house.files}"
    for other in beside:
        there = measure(other)
        yield f"lines, files in src/{other.name}", f"{there.lines:,}, {there.files}"
    yield "files in src (without compiled ones)", f"{len(list(_files_in(src)))}"
    yield "lines a file", f"{house.lines / house.files:.0f}"
    yield "files a row touches for the cues section", f"{len(touched)}"
    yield "lines in these files", f"{sum(_lines(package / name) for name in touched):,}"
    yield "paths for one statistic (isinstance on kinds of datasets)", f"{len(house.switches)}"
    newest = [path for path in package.rglob("*.py") if NEWEST_AUDIT in path.relative_to(package).as_posix()]
    yield f"files, lines of a new audit ({NEWEST_AUDIT})", f"{len(newest)}, {sum(map(_lines, newest))}"
    yield "uses of Any (imports not counted)", f"{house.uses_of_any:,}"
    yield (
        f"functions with more than {MOST_PARAMETERS} parameters (verbs aside)",
        f"{len(house.wide)}",
    )
    yield "lines of the median function", f"{statistics.median(house.lengths):.0f}"
    long = sum(length > LONG for length in house.lengths)
    yield f"functions over {LONG} lines", f"{long} ({long / len(house.lengths):.1%})"


def _files_in(folder: Path) -> Iterator[Path]:
    made = {".pyc", ".nbi", ".nbc", ".so", ".pyd", ".c"}
    return (path for path in folder.rglob("*") if path.is_file() and path.suffix not in made)


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8", errors="replace").count("\n")


def main() -> None:
    """Print the table of the installed package."""
    import cuecard

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--places", action="store_true", help="also list what was counted")
    asked = parser.parse_args()
    package = Path(cuecard.__file__).parent
    touched = touched_files(package)
    for name, value in table(package, touched):
        print(f"{name:<70}{value:>14}")
    if asked.places:
        house = measure(package)
        for title, places in (("touched", touched), ("switches", house.switches), ("wide", house.wide)):
            print("\n".join([f"\n{title}:", *(f"  {place}" for place in places)]))


if __name__ == "__main__":
    main()
