"""Workflows, the container and the recipe name what this project is and needs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="the tools of `make test` are not installed")

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.search(r'__version__ = "(.+)"', (ROOT / "src/cuecard/_version.py").read_text()).group(1)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_the_recipe_needs_what_the_package_needs():
    recipe = yaml.safe_load(re.sub(r"\$\{\{.*?\}\}", "x", (ROOT / "packaging/conda/recipe.yaml").read_text()))
    needed = [
        need.replace(" ", "") for need in recipe["requirements"]["run"] if not need.startswith("python ")
    ]
    assert needed == PROJECT["dependencies"]
    assert recipe["context"]["version"] == VERSION
    assert f"python {PROJECT['requires-python']}" in recipe["requirements"]["run"]


def test_citation_and_changelog_name_the_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == VERSION


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_have_no_rights_by_default_time_limits_and_pinned_actions(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 90
        for step in job["steps"]:
            assert re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + "0" * 40)), step


def test_every_make_target_and_script_of_a_workflow_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    commands = "\n".join(path.read_text() for path in WORKFLOWS)
    assert set(re.findall(r"run: make ([a-z-]+)", commands)) <= targets
    assert all((ROOT / script).is_file() for script in re.findall(r"python (scripts/\S+)", commands))


def test_pythons_of_wheels_tests_and_classifiers_are_the_same():
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    tested = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    assert tested["jobs"]["pythons"]["strategy"]["matrix"]["python"] == declared
    assert tools["cibuildwheel"]["build"].split() == [
        f"cp{version.replace('.', '')}-*" for version in declared
    ]


def test_the_address_of_the_repository_stands_in_one_variable_and_nowhere_else():
    release, docs = ((ROOT / ".github/workflows" / name).read_text() for name in ("release.yml", "docs.yml"))
    assert "REPOSITORY_URL: ${{ vars.REPOSITORY_URL }}" in release
    assert "REPOSITORY_URL: ${{ vars.REPOSITORY_URL }}" in docs
    assert "!ENV [REPOSITORY_URL" in (ROOT / "mkdocs.yml").read_text()
    assert 'os.environ.get("REPOSITORY_URL"' in (ROOT / "setup.py").read_text()
    texts = [
        ROOT / name
        for name in ("README.md", "action.yml", ".pre-commit-hooks.yaml", "pyproject.toml", "CITATION.cff")
    ]
    texts += [*(ROOT / "docs").glob("*.md"), *(ROOT / "packaging").rglob("*.*"), *WORKFLOWS]
    for path in texts:
        text = path.read_text(encoding="utf-8")
        assert "OWNER" not in text, path
        assert not re.search(r"github\.com/[\w-]+/cuecard", text), path
