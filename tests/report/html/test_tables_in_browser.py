"""Tables and charts of the report in a real browser: sorted, filtered, paged, copied, printed whole, saved."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuecard.card.card import Card
from cuecard.report.html.card_page import write_report

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
BROWSER = next(
    (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
WAIT = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(make_card: Callable[..., Card], tmp_path_factory: pytest.TempPathFactory) -> str:
    card = make_card([f"word{i:02d}, a|b" for i in range(40)])
    return write_report(card, tmp_path_factory.mktemp("report") / "report.html").as_uri()


@pytest.fixture
def page(browser: Any, report: str) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 390, "height": 800}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(WAIT)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(report)
    page.locator("#cues summary").first.click()
    yield page
    context.close()
    assert problems == []


def shown(page: Any) -> list[str]:
    rows = page.locator("#cues .table tbody tr:not([hidden]) th").all_inner_texts()
    return [row.partition(",")[0] for row in rows]


def test_a_table_is_sorted_by_any_column_up_and_down(page: Any) -> None:
    table = page.locator("#cues .table").first
    strongest = shown(page)
    assert strongest[0] == "word00"
    table.get_by_role("button", name="Share", exact=True).click()
    assert shown(page)[0] == "word00"
    assert table.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    table.get_by_role("button", name="Share", exact=True).click()
    assert shown(page)[0] == "word39"
    table.get_by_role("button", name="Feature", exact=True).click()
    assert shown(page)[:2] == ["word00", "word01"]


def test_pages_lead_through_all_rows_by_keyboard(page: Any) -> None:
    table = page.locator("#cues .table").first
    status = table.get_by_role("status")
    assert status.inner_text() == "1 to 15 of 40"
    following = table.get_by_role("button", name="Next")
    seen = shown(page)
    for text in ("16 to 30 of 40", "31 to 40 of 40"):
        following.focus()
        page.keyboard.press("Enter")
        playwright.expect(status).to_have_text(text)
        seen += shown(page)
    assert sorted(seen) == [f"word{i:02d}" for i in range(40)]
    assert following.is_disabled()
    table.get_by_role("button", name="Show all 40").click()
    assert len(shown(page)) == 40


def test_a_filter_keeps_the_rows_with_every_word(page: Any) -> None:
    table = page.locator("#cues .table").first
    table.get_by_role("searchbox").fill("WORD1 neutral")
    assert shown(page)
    assert all(name.startswith("word1") for name in shown(page))
    table.get_by_role("searchbox").fill("nothing")
    assert shown(page) == []
    assert table.get_by_role("status").inner_text() == "no row matches"


def test_rows_are_copied_as_csv_with_exact_numbers_and_as_markdown(page: Any) -> None:
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    table = page.locator("#cues .table").first
    table.get_by_role("searchbox").fill("word0")
    table.get_by_role("button", name="Copy CSV").click()
    page.wait_for_function("window.copied")
    lines = page.evaluate("window.copied").splitlines()
    assert len(lines) == 11
    assert lines[1].startswith('"word00, a|b",bigram,')
    assert ",0.95," in lines[1]
    table.get_by_role("button", name="Copy Markdown").click()
    page.wait_for_function("window.copied.startsWith('| Feature')")
    lines = page.evaluate("window.copied").splitlines()
    assert len(lines) == 12
    assert lines[2].startswith("| word00, a\\|b | bigram |")
    assert "| 95.0" in lines[2]


def test_a_print_has_every_row_and_no_buttons(page: Any) -> None:
    table = page.locator("#cues .table").first
    table.get_by_role("searchbox").fill("word07")
    page.emulate_media(media="print")
    assert table.locator("tbody tr:visible").count() == 40
    assert page.locator(".table-tools:visible, .save:visible").count() == 0


def test_without_scripts_a_table_is_whole_and_has_no_dead_button(browser: Any, report: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    page.locator("#cues summary").first.click()
    assert page.locator("#cues .table tbody tr").first.is_visible()
    assert page.locator("#cues .table tbody tr").count() == 40
    assert page.locator("button:visible").count() == 0
    context.close()


def test_a_chart_fits_a_phone_and_is_saved(page: Any) -> None:
    figure = page.locator("#cues figure").first
    figure.locator("svg").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert figure.locator(".chart").evaluate("place => place.scrollWidth - place.clientWidth") <= 1
    for kind in ("PNG", "SVG"):
        with page.expect_download() as download:
            figure.get_by_role("button", name=kind).click()
        file = Path(download.value.path()).read_bytes()
        assert file.startswith(b"\x89PNG" if kind == "PNG" else b"<svg")
        assert download.value.suggested_filename == f"cuecard-cues-0.{kind.lower()}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_has_no_serious_accessibility_problem(page: Any, scheme: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-core is not installed"
    ).Axe()
    page.emulate_media(color_scheme=scheme)
    page.locator("#cues figure svg").first.wait_for()
    violations = axe.run(page).response["violations"]
    serious = [
        (one["id"], one["nodes"][0]["html"]) for one in violations if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
