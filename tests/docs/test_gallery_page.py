"""The gallery shows what an audit prints today: the numbers of one of its sets are computed again."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
NUMBERS = re.compile(r"[\d.]+\s%")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_page_has_every_set_and_the_numbers_of_the_clean_one(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    gallery = import_module("make_gallery")
    assert len(gallery.SETS) == 6
    for title, make in gallery.SETS.items():
        assert f"\n{make.__doc__}\n\n```text\n" in section(title)
    title = "Pairs without any"
    shown = gallery.shown(gallery.SETS[title])
    assert NUMBERS.findall(shown) == NUMBERS.findall(section(title)), "python scripts/make_gallery.py"
    assert len(NUMBERS.findall(shown)) >= 8
