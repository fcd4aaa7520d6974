"""The chart library is part of the package; pictures need an extra, and say so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cuecard.errors import InputError, MissingExtraError
from cuecard.report.html import chart_page
from cuecard.report.html.chart_page import check_chart_path
from cuecard.report.html.page import CHART_LIBRARY, resource

ROOT = Path(__file__).parents[3]


def test_the_library_says_its_licence_and_ends_no_element():
    script = resource(CHART_LIBRARY)
    assert "BSD-3-Clause" in script[:600]
    assert "vegaEmbed" in script
    assert "</script" not in script
    assert "<!--" not in script


def test_the_library_is_what_the_installed_engine_bundles():
    pytest.importorskip("vl_convert")
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        from bundle_charts import bundled
    finally:
        sys.path.pop(0)
    assert resource(CHART_LIBRARY) == bundled()


def test_a_picture_that_cannot_be_drawn_is_one_sentence():
    pytest.importorskip("vl_convert")
    chart = {"mark": "point", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
    assert chart_page.picture(chart, "svg").startswith(b"<svg")
    with pytest.raises(InputError, match=r"JavaScript engine that draws charts cannot run"):
        chart_page.picture({"mark": {"type": []}}, "svg")


def test_a_picture_without_its_extra_says_what_to_install(monkeypatch):
    monkeypatch.setattr(chart_page, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[images\]'"):
        check_chart_path("chart.png")
    assert check_chart_path("chart.html") == Path("chart.html")
