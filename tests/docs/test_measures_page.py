"""The page of measures is what the analyses declare."""

from __future__ import annotations

from scripts.list_measures import PAGE, page


def test_the_page_of_measures_is_current():
    written = PAGE.read_text(encoding="utf-8")
    assert "partial_input.{shortcut}.accuracy" in written
    assert written == page(), "run `python scripts/list_measures.py`"
