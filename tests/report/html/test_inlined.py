from __future__ import annotations

import pytest

from cuecard.report.html import inlined


@pytest.fixture
def bundled(tmp_path, monkeypatch):
    """How often the library was bundled, with a cache of the test's own."""
    times = []

    def bundle() -> str:
        times.append(1)
        return "const vega = 'Größe';\n"

    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    monkeypatch.setattr(inlined, "_bundle", bundle)
    inlined.chart_library.cache_clear()
    yield times
    inlined.chart_library.cache_clear()


def library_again() -> str:
    inlined.chart_library.cache_clear()
    return inlined.chart_library()


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
