"""Write docs/dependencies.md: what every package of the core is for, its size on disk and the time of its import.

python scripts/list_dependencies.py
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from cuecard import __version__

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "dependencies.md"
#: What each package of the core is for, and what is imported of it.
PURPOSES = {
    "numpy": ("arrays: every statistic", "numpy"),
    "scipy": ("tails of distributions, sparse matrices", "scipy.special, scipy.sparse"),
    "polars": ("tables: reading files, grouping, the tables of a card", "polars"),
    "pyarrow": ("object storage, saved Hugging Face datasets, `to_pandas()`", "pyarrow"),
    "scikit-learn": ("k-means, SVD, forests of the pair graph", "sklearn.cluster"),
    "threadpoolctl": ("two threads for linear algebra where audits run side by side", "threadpoolctl"),
    "altair": ("specifications of charts; the browser draws them", "altair"),
    "jinja2": ("reports and pages of the app", "jinja2"),
    "typer": ("the command line", "typer"),
    "rich": ("tables and progress on the terminal", "rich"),
    "pydantic": ("the schema of cards", "pydantic"),
    "platformdirs": ("where the cache lies", "platformdirs"),
    "filelock": ("one writer per folder", "filelock"),
    "safetensors": ("saved models", "safetensors"),
}
#: MB of packages that the core needed before 0.2.0, and those that it needs since.
REMOVED, ADDED = {"llvmlite": 179.3, "vl-convert-python": 87.8, "numba": 15.6}, ["filelock"]
HEAD = """# Dependencies of the core

What `pip install .` installs, without extras: {packages} packages, {megabytes:.0f} MB on disk, before compiled Python
files. Lower bounds are tested (`make test-minimum`), there are no upper bounds. Import times are processor seconds of a
fresh process beyond those of Python alone, best of five; what a package imports itself is counted with it. A command
imports what its sections need: an audit of cues on the terminal imports neither altair nor scikit-learn.

| core | packages | MB |
|---|---:|---:|
| before 0.2.0 | {packages_before} | {megabytes_before:.0f} |
| now | {packages} | {megabytes:.0f} |

Before, it also needed numba (15.6 MB, 0.32 s to import) with llvmlite (179.3 MB), whose loops are compiled when the
package is built now, and vl-convert (87.8 MB), which is the extra `images`; it did not need filelock.

Written by `python scripts/list_dependencies.py` with CueCard {version} and Python {python}.

| package | version | for | MB | import, s |
|---|---|---|---:|---:|
"""


def size_of(package: Distribution) -> float:
    """Return the megabytes that a package's files take, without compiled Python files."""
    paths = (Path(str(file.locate())) for file in package.files or () if not file.name.endswith(".pyc"))
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def import_seconds(modules: str) -> float:
    """Return the processor seconds of an import beyond those of Python alone, the best of five."""
    env = {**os.environ, "PYTHONPATH": ""}

    def seconds(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], check=True, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    code = f"import {modules}" if modules else "pass"
    return max(0.0, min(seconds(code) for _ in range(5)) - min(seconds("pass") for _ in range(5)))


def needed(names: list[str]) -> dict[str, Distribution]:
    """Return the packages of these names and all that they need without extras, by name."""
    found: dict[str, Distribution] = {}
    while names:
        name = canonicalize_name(names.pop())
        if name not in found:
            package = found[name] = distribution(name)
            requirements = map(Requirement, package.requires or ())
            names += [r.name for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})]
    return found


def page() -> str:
    """Return the page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = [Requirement(text).name for text in project["dependencies"]]
    packages = needed(list(core))
    sizes = {name: size_of(package) for name, package in packages.items()}
    sizes["polars"] += sum(sizes.pop(name) for name in list(sizes) if name.startswith("polars-runtime"))
    head = HEAD.format(
        packages=len(packages),
        megabytes=sum(sizes.values()),
        packages_before=len(packages) - len(ADDED) + len(REMOVED),
        megabytes_before=sum(sizes.values()) - sum(sizes[name] for name in ADDED) + sum(REMOVED.values()),
        version=__version__,
        python=platform.python_version(),
    )
    rows = []
    for name in sorted(core, key=lambda name: -sizes[canonicalize_name(name)]):
        purpose, modules = PURPOSES[name]
        package = packages[canonicalize_name(name)]
        size, seconds = sizes[canonicalize_name(name)], import_seconds(modules)
        rows.append(f"| {name} | {package.version} | {purpose} | {size:.1f} | {seconds:.2f} |")
    others = sorted(set(sizes) - {canonicalize_name(name) for name in core})
    rest = sum(sizes[name] for name in others)
    tail = f"\nThese need {len(others)} further packages, {rest:.1f} MB together: {', '.join(others)}.\n"
    return head + "\n".join(rows) + "\n" + tail


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
