"""The chart library is shipped, or bundled once in a process that may fail; a report is written in any case."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from cuecard.card import save_card
from cuecard.errors import InputError
from cuecard.report.html import chart_library as library
from cuecard.report.html.card_page import render_html
from cuecard.report.html.engine import picture
from cuecard.run import audit
from pace import PATIENCE
from small_sets import pair_instances

ROOT = Path(__file__).parents[3]
ROWS = [("train", f"premise {i}", f"hypothesis {i % 7}", "yes" if i % 2 else "no") for i in range(60)]


@pytest.fixture
def bundled(tmp_path, monkeypatch):
    """How often the library was bundled, with a cache of the test's own."""
    times = []

    def bundle() -> str:
        times.append(1)
        return "const vega = 'Größe';\n"

    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    monkeypatch.setattr(library, "javascript_bundle", bundle)
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped.js")
    library.chart_library.cache_clear()
    yield times
    library.chart_library.cache_clear()


def library_again() -> str:
    library.chart_library.cache_clear()
    return library.chart_library()


def test_the_chart_library_is_bundled_once_and_read_from_the_cache_afterwards(bundled):
    first = library_again()
    assert library_again() == first == "const vega = 'Größe';\n"
    assert len(bundled) == 1


def test_a_cached_library_that_was_changed_or_cut_short_is_bundled_again(bundled, tmp_path):
    first = library_again()
    (file,) = tmp_path.rglob("*.js")
    for damaged in (file.read_bytes()[:-3], file.read_bytes() + b"alert(1)", b"", b"\xff\n"):
        file.write_bytes(damaged)
        assert library_again() == first
    assert len(bundled) == 5


def test_a_cache_that_cannot_be_written_is_no_error(bundled, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "file"))
    assert library_again() == library_again()
    assert len(bundled) == 2


def test_a_shipped_library_is_used_if_the_installed_version_made_it(bundled, tmp_path):
    library.SHIPPED.write_bytes(library.with_first_line("shipped", version("vl-convert-python")))
    assert library_again() == "shipped"
    library.SHIPPED.write_bytes(library.with_first_line("shipped", "0.1"))
    assert library_again() == "const vega = 'Größe';\n"
    assert len(bundled) == 1


def test_without_an_engine_any_shipped_library_serves_and_without_one_a_report_has_no_charts(
    bundled, monkeypatch
):
    def dies() -> str:
        raise InputError("the engine cannot run")

    monkeypatch.setattr(library, "javascript_bundle", dies)
    library.SHIPPED.write_bytes(library.with_first_line("shipped", "0.1"))
    assert library_again() == "shipped"
    library.SHIPPED.unlink()
    assert library_again() is None
    card = audit(pair_instances(ROWS), only=["overview"])
    page = render_html(card)
    assert "vegaEmbed" in page
    assert library.WITHOUT in page


def test_an_engine_that_dies_of_a_memory_limit_costs_the_charts_and_not_the_report(tmp_path):
    save_card(audit(pair_instances(ROWS), only=["overview"]), tmp_path / "card")
    limited = (
        "import os, resource; os.environ['CUECARD_CACHE'] = os.getcwd(); "
        "from cuecard.report.html import chart_library; from pathlib import Path; "
        "chart_library.SHIPPED = Path('none'); import sys; from cuecard.cli import main; "
        "resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9,) * 2); sys.argv = ['cuecard', *sys.argv[1:]]; main()"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", limited, *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)

    done = run("report", "card", "--quiet")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"cuecard: {library.WITHOUT}\n"
    assert library.WITHOUT in (tmp_path / "card" / "report.html").read_text()


def test_a_picture_that_cannot_be_drawn_is_one_sentence():
    chart = {"mark": "point", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
    assert picture(chart, "svg").startswith(b"<svg")
    with pytest.raises(InputError, match=r"JavaScript engine that draws charts cannot run"):
        picture({"mark": {"type": []}}, "svg")
