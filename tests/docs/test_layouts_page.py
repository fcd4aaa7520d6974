"""The page of layouts says what the tests read."""

from __future__ import annotations

from scripts.list_layouts import PAGE, page


def test_the_page_of_layouts_is_current():
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python scripts/list_layouts.py`"
