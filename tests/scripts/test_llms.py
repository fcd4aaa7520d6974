"""What language models and agents are told of CueCard: every page is listed, and the skill's commands exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from scripts.make_llms import content
from typer.main import get_command

from cuecard.cli.main import app

ROOT = Path(__file__).parents[2]


def test_every_page_is_listed_with_its_first_sentence():
    listed = dict(re.findall(r"^- \[[^]]+\]\((\S+\.md)\): (.+)$", content(), re.M))
    assert set(listed) == {page.name for page in (ROOT / "docs").glob("*.md")}
    assert listed["probes.md"] == "A cue in the data is not yet a cheat in a model."


def test_the_commands_of_the_skill_exist():
    skill = (ROOT / "integrations" / "agent-skill" / "SKILL.md").read_text(encoding="utf-8")
    verbs = get_command(app).commands
    typed = re.findall(r"`cuecard ([^`]+)`", skill)
    assert len(typed) >= 8
    for words in map(shlex.split, typed):
        options = {name for parameter in verbs[words[0]].params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, words


def test_the_readme_begins_with_its_two_commands_and_is_short():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("\n") <= 120
    first = re.search(r"```\n(.*?)```", readme, re.S)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == ["make demo", "make test"]
