"""What is installed is pinned and licensed, and what is built can be installed."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

pytest.importorskip("mkdocs", reason="the tools of `make test` are not installed")

from list_licences import COMPATIBLE, PAGE, closure, licence, page, parts, roots  # noqa: E402


def pins() -> dict[str, str]:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


def test_every_package_that_is_needed_is_pinned_to_the_version_that_is_tested():
    needed = closure()
    assert {canonicalize_name(requirement.name) for requirement in roots()} <= needed
    assert needed <= set(pins())
    assert {name: version(name).split("+")[0] for name in needed} == {name: pins()[name] for name in needed}


def test_every_licence_is_compatible_and_on_the_page():
    unknown = {name: licence(name) for name in closure() if not parts(licence(name))}
    assert unknown == {}
    assert {name for name in closure() if not all(map(COMPATIBLE.match, parts(licence(name))))} == set()
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again with make licences"


@pytest.mark.parametrize("expression", ["GPL-3.0-only", "MIT AND AGPL-3.0", "Proprietary", "LGPL-2.1"])
def test_other_licences_are_told(expression):
    assert not all(map(COMPATIBLE.match, parts(expression)))


def test_installed_packages_fit_together():
    ran = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_wheel_has_the_package_its_data_and_its_licence_and_nothing_else(tmp_path):
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            tmp_path,
            ".",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if not re.match(r"cuecard-[^/]+\.dist-info/", name)} == {
        "cuecard",
        "cuecard_papers",
    }
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    source = ROOT / "src"
    tracked = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    for name in filter(None, tracked.splitlines()):
        assert (ROOT / name).relative_to(source).as_posix() in names
