"""The gate in other tools, run by them: pytest, pre-commit, and the shell of the GitHub Action."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cuecard.card import save_card
from cuecard.card.policy_files import parse_policy
from cuecard.testing import assert_policy
from policy_cards import card_with, excess

ROOT = Path(__file__).parents[1]
LIMIT = '[rules]\n"partial_input.hypothesis_only.excess" = "<= {}"\n'


@pytest.fixture
def place(tmp_path) -> Path:
    """A folder with a card, a policy that it violates, and a `cuecard` command of this checkout."""
    import polars as pl

    card = card_with(excess(0.2, 0.02), examples=pl.DataFrame({"content": [1]}))
    save_card(card, tmp_path / "card")
    (tmp_path / "cuecard.toml").write_text(LIMIT.format(0.05))
    (tmp_path / "loose.toml").write_text(LIMIT.format(0.5))
    command = tmp_path / "bin" / "cuecard"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m cuecard "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run(place: Path, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{place / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [str(word) for word in words],
        cwd=place,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_assert_policy_names_the_violated_rule_and_its_numbers():
    card = card_with(excess(0.2, 0.02))
    with pytest.raises(AssertionError, match=r"hypothesis_only.excess: .*\+20.0 points.*limit at most \+5.0"):
        assert_policy(card, parse_policy(LIMIT.format(0.05)))
    assert assert_policy(card, parse_policy(LIMIT.format(0.5))).verdict == "pass"
    undecided = parse_policy(LIMIT.format(0.21))
    assert_policy(card, undecided)
    with pytest.raises(AssertionError, match=r"FAIL \(strict\)"):
        assert_policy(card, undecided, strict=True)


def test_pytest_runs_it_and_reports_the_rule(place):
    (place / "test_data.py").write_text(
        "from cuecard.testing import assert_policy\n\n"
        "def test_leaks():\n    assert_policy('card', 'cuecard.toml')\n\n"
        "def test_loose():\n    assert_policy('card', 'loose.toml')\n"
    )
    source = str(ROOT / "src")
    ran = run(place, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", PYTHONPATH=source)
    assert ran.returncode == 1
    assert "1 failed, 1 passed" in ran.stdout
    assert "partial_input.hypothesis_only.excess" in ran.stdout


def test_pre_commit_accepts_the_hook_and_runs_it(place):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    yaml = pytest.importorskip("yaml")
    manifest = pytest.importorskip("pre_commit.clientlib")
    [hook] = manifest.load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))
    assert hook["entry"] == "cuecard check"
    # The same hook, run from the environment at hand: installing one needs a network.
    local = {"id": hook["id"], "name": hook["name"], "language": "system", "pass_filenames": False}
    local |= {"files": hook["files"], "entry": hook["entry"]}
    for policy, code in (("cuecard.toml", 1), ("loose.toml", 0)):
        local["args"] = ["card", "--policy", policy]
        config = {"repos": [{"repo": "local", "hooks": [local]}]}
        (place / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        if not (place / ".git").exists():
            run(place, "git", "init", "-q")
        run(place, "git", "add", "-A")
        ran = run(
            place, sys.executable, "-m", "pre_commit", "run", "--all-files", PRE_COMMIT_HOME=str(place / "h")
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
    assert "Passed" in ran.stdout


def test_the_script_of_the_action_runs(place):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    install, step = action["runs"]["steps"]
    named = set(step["env"].values()) | set(install["env"].values())
    assert {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]} == named
    summary = place / "summary.md"
    inputs = dict.fromkeys(step["env"], "") | {"CUECARD_DATA": "card", "CUECARD_SARIF": "check.sarif"}
    for policy, code in (("cuecard.toml", 1), ("loose.toml", 0), ("none.toml", 2)):
        ran = run(
            place,
            "bash",
            "-e",
            "-c",
            step["run"],
            **(inputs | {"CUECARD_POLICY": policy, "GITHUB_STEP_SUMMARY": str(summary)}),
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
    assert summary.read_text().count("## CueCard check") == 2
    (place / "extras.toml").write_text('extras = ["english", "zh"]\n' + (place / "loose.toml").read_text())
    (place / "bin" / "python").write_text(
        f'#!/bin/sh\nif [ "$1" = -m ]; then echo "$5"; else exec {sys.executable} "$@"; fi\n'
    )
    (place / "bin" / "python").chmod(0o755)
    for extras, policy, installed in (
        ("policy", "extras.toml", "here[english,zh]"),
        ("policy", "none.toml", "here"),
        ("nltk", "extras.toml", "here[nltk]"),
        ("", "extras.toml", "here"),
    ):
        inputs_of_install = {"CUECARD_EXTRAS": extras, "CUECARD_POLICY": policy, "GITHUB_ACTION_PATH": "here"}
        ran = run(place, "bash", "-e", "-c", install["run"], **inputs_of_install)
        assert ran.stdout.strip() == installed, ran.stderr
    further = {"CUECARD_POLICY": "loose.toml", "CUECARD_ARGUMENTS": "--ratchet *"}
    assert run(place, "bash", "-e", "-c", step["run"], **(inputs | further), CI="").returncode == 0
    assert (place / "*").is_file()  # not the names of all files
    assert (place / "check.sarif").exists()
