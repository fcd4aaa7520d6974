"""The changelog: dated sections of at most two pages, one line per change, files in changes/ of one form."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
#: Two printed pages.
MOST_LINES = 110


@pytest.fixture
def collecting(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    sys.modules.pop("collect_changes", None)
    return import_module("collect_changes")


def test_the_newest_section_is_dated_is_that_of_the_version_and_fits_on_two_pages():
    sections = re.findall(r"^## (.+)$", TEXT, re.M)
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/cuecard/_version.py").read_text()).group(1)
    assert re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", sections[0])
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", section) for section in sections), (
        "A change since the last version is a file in changes/, not a line here."
    )
    for body in re.split(r"^## .+$", TEXT, flags=re.M)[1:]:
        assert len(body.splitlines()) <= MOST_LINES


def test_every_file_of_changes_holds_one_sentence(collecting):
    assert [mistake for path in collecting.fragments() for mistake in collecting.mistakes(path)] == []


def test_the_history_has_the_long_list():
    history = (ROOT / "docs" / "history.md").read_text(encoding="utf-8")
    assert len(history.splitlines()) > 500
    assert "docs/history.md" in TEXT


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("a-b.added.md", "Something new can be done with --option.\n", 0),
        ("a-b.added.md", "First sentence is here.\nSecond line.\n", 1),
        ("a-b.added.md", "No full stop at the end\n", 1),
        ("A b.new.md", "Something new can be done with --option.\n", 1),
        ("a.fixed.md", "x" * 300 + ".\n", 1),
    ],
)
def test_a_file_of_another_form_is_named(name, text, wrong, collecting, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    assert len(collecting.mistakes(path)) == wrong


def test_files_become_a_dated_section_above_the_others(collecting, tmp_path, monkeypatch):
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "b.fixed.md").write_text("Something was wrong and is not.\n")
    (tmp_path / "changes" / "a.added.md").write_text("Something new can be done.\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.2.0 (2026-11-19)\n\nOld.\n")
    (tmp_path / "_version.py").write_text('__version__ = "0.3.0"\n')
    for name, value in {
        "CHANGES": tmp_path / "changes",
        "CHANGELOG": tmp_path / "CHANGELOG.md",
        "VERSION": tmp_path / "_version.py",
    }.items():
        monkeypatch.setattr(collecting, name, value)
    monkeypatch.setattr(sys, "argv", ["collect_changes", "--write"])
    collecting.main()
    text = (tmp_path / "CHANGELOG.md").read_text()
    assert re.search(r"## 0\.3\.0 \(\d{4}-\d\d-\d\d\)\n\n### What is new\n\n- Something new", text)
    assert text.index("What is fixed") < text.index("## 0.2.0")
    assert list((tmp_path / "changes").iterdir()) == []
    with pytest.raises(SystemExit, match="set the next version"):
        collecting.main()
