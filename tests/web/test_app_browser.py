"""The app in a real browser: from an empty library to a finding, by mouse and by keyboard; hostile texts stay texts."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pace import PATIENCE, wait_until
from web.conftest import HOSTILE, pairs
from web.test_models_page import probed

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")

from cuecard.web import AppSettings, create_app  # noqa: E402
from cuecard.web.preparing import prepare  # noqa: E402
from cuecard.web.state import State  # noqa: E402

BROWSER = next(
    (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
WAIT = 60_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a folder on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = AppSettings(root=root, port=port)
    server = uvicorn.Server(uvicorn.Config(create_app(settings), port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()


@pytest.fixture
def empty_address(tmp_path: Path) -> Iterator[str]:
    """The app on an empty folder."""
    root = tmp_path / "empty"
    root.mkdir()
    with served(root) as address:
        yield address


@pytest.fixture(scope="module")
def address(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on a folder with data and one card, its pages prepared."""
    root = Path(shutil.copytree(stored, tmp_path_factory.mktemp("app") / "root"))
    points = [(i % 10, i // 10, "no" if i % 2 else "yes", f"{HOSTILE} {i}", i // 50) for i in range(100)]
    schema = ["x", "y", "label", "text", "cluster"]
    frame = pl.DataFrame(points, schema=schema, orient="row")
    frame.write_parquet(root / "cards" / "houses" / "tables" / "cluster_map.parquet")
    regions = {
        "cluster": [0, 1], "words": ["nobody, street, house", "river, tree"], "size": [50, 50], "label": ["no", "yes"],
        "share": [0.9, 0.5], "share_low": [0.8, 0.4], "share_high": [0.95, 0.6], "prior": [0.5, 0.5],
        "divergence_l2": [0.3, 0.01],
    }  # fmt: skip
    pl.DataFrame(regions).write_parquet(root / "cards" / "houses" / "tables" / "clusters.parquet")
    concepts = {
        "concept": ["maybe+perhaps", "ship+sea"], "label": ["no", "yes"], "direction": ["points to"] * 2,
        "share": [0.9, 0.8], "share_low": [0.8, 0.7], "share_high": [0.95, 0.9], "chance": [0.5, 0.5],
        "train_count": [2, 2], "q_value": [0.001, 0.01], "beyond_words": [True, False],
        "words": ["maybe, perhaps", "ship, sea"], "significant": [True, True],
    }  # fmt: skip
    pl.DataFrame(concepts).write_parquet(root / "cards" / "houses" / "tables" / "concept_cues.parquet")
    strengths = {
        "concept": ["maybe+perhaps"] * 3 + ["ship+sea"] * 3, "strength": [0.4, 0.2, -0.1] * 2,
        "texts": [1, 2, 3] * 2, "share": [1.0, 0.5, 0.667] * 2, "share_low": [0.2, 0.1, 0.2] * 2,
        "share_high": [1.0, 0.9, 0.9] * 2,
        "label": ["no", "yes", "no"] * 2, "text": [f"{HOSTILE} {i}" for i in range(6)],
    }  # fmt: skip
    pl.DataFrame(strengths).write_parquet(root / "cards" / "houses" / "tables" / "concept_strengths.parquet")
    steps = [(i / 100, 0.5 if i < 30 else 0.0, 0.0, 0.2 if i < 5 else 0.0) for i in range(41)]
    curve = pl.DataFrame(steps, schema=["threshold", "share_above", "null_low", "null_high"], orient="row")
    curve.write_parquet(root / "cards" / "houses" / "tables" / "cluster_curve.parquet")
    pairs(60).rename({"premise": "one", "hypothesis": "two", "label": "three"}).write_csv(root / "odd.csv")
    prepare(root / "cards" / "houses", root)
    probed(root)
    state = State(root / ".cuecard" / "app.sqlite3")
    job = state.add_job(
        "plan", "A plan that failed", [], "cuecard plan data/houses_train.csv", root / "plan.csv"
    )
    state.end_job(job.id, "failed", f"It cannot be read: {HOSTILE}")
    with served(root) as address:
        yield address


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A new page; an error of its scripts, or a refused one, fails the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(WAIT)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert problems == []


def test_from_an_empty_library_to_a_finding_and_its_cue(
    page: Any, empty_address: str, tmp_path: Path
) -> None:
    page.goto(empty_address)
    page.get_by_text("There is no card below").wait_for()
    page.get_by_role("link", name="New audit").first.click()
    file = tmp_path / "houses.csv"
    pairs(300).write_csv(file)
    page.set_input_files("#train-file", str(file))
    page.get_by_text("Task: pair").wait_for()
    page.locator("[name=only]").first.wait_for()
    for box in page.locator("[name=only]").all():
        box.set_checked(box.get_attribute("value") in ("overview", "cues"))
    page.get_by_role("button", name="Run the audit").click()
    page.wait_for_url("**/cards/*")
    page.get_by_role("heading", level=1).wait_for()
    assert "predict the label" in page.inner_text("h1")
    page.locator("summary", has_text="Cues").first.click()
    page.locator("#cues .chart svg").first.wait_for()
    page.get_by_role("link", name="Cues").first.click()
    page.get_by_role("searchbox").fill("nobody")
    page.locator("tbody th a", has_text="nobody").first.click()
    page.locator(".example mark", has_text="nobody").first.wait_for()
    assert page.title() != "broken"  # a text of the data would change it if it ran
    page.go_back()
    page.locator("tbody th a", has_text="nobody").first.wait_for()
    assert page.get_by_role("searchbox").input_value() == "nobody"


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


def test_the_keyboard_alone_leads_from_an_empty_library_to_a_finding_and_its_cue(
    page: Any, empty_address: str, tmp_path: Path
) -> None:
    pairs(150).write_csv(tmp_path / "empty" / "houses.csv")
    page.goto(empty_address)
    page.get_by_text("There is no card below").wait_for()
    tab_to(page, "main a[href='/new']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/new")
    tab_to(page, "[name=train]")
    page.keyboard.type("houses.csv")
    page.keyboard.press("Tab")
    page.get_by_text("Task: pair").wait_for()
    page.locator("[name=only]").first.wait_for()
    for name in page.eval_on_selector_all("[name=only]", "all => all.map((one) => one.value)"):
        if name not in ("overview", "cues"):
            tab_to(page, f"[name=only][value={name}]")
            page.keyboard.press("Space")
    tab_to(page, "button[type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cards/*")
    assert "nobody" in page.locator(".finding").first.inner_text()
    tab_to(page, "#cues > summary")
    page.keyboard.press("Enter")
    page.locator("#cues .chart svg").first.wait_for()
    page.keyboard.press("Home")
    page.reload()
    tab_to(page, ".side a[href$='/cues']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/cues*")  # the page writes its filters into the address
    tab_to(page, "input[type=search]")
    page.keyboard.type("nobody")
    page.locator("tbody th a", has_text="nobody").first.wait_for()
    page.wait_for_load_state("networkidle")
    tab_to(page, "tbody th a")
    page.keyboard.press("Enter")
    page.locator(".example mark", has_text="nobody").first.wait_for()


def test_hostile_texts_are_texts_on_every_page(page: Any, address: str) -> None:
    page.goto(address)
    card = page.locator("tbody th a").first.get_attribute("href")
    for path in (
        f"{card}#cues",
        f"{card}/cues",
        f"{card}/examples?cue=word:nobody",
        f"{card}/cue?family=word&feature=nobody",
    ):
        page.goto(address + path)
        page.wait_for_load_state("networkidle")
        assert page.title().endswith("CueCard")
        assert page.locator("img, main script").count() == 0
        assert "49" not in page.title()
    page.goto(f"{address}{card}/examples?cue=word:nobody")
    page.get_by_text("<img src=x onerror=").first.wait_for()
    page.get_by_text("<script>document.title='broken'</script>").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280  # a huge cell widens nothing
    assert "\x1b" not in page.inner_text("main")


def test_pages_fit_a_phone_and_have_no_serious_accessibility_problem_light_or_dark(
    page: Any, address: str
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-core is not installed"
    ).Axe()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(address)
    card = page.locator("tbody th a").first.get_attribute("href")
    page.goto(f"{address}/jobs")
    job = page.locator("tbody th a", has_text="A plan that failed").get_attribute("href")
    for path in (
        "/",
        "/new",
        "/jobs",
        "/help",
        job,
        card,
        f"{card}/cues",
        f"{card}/examples",
        f"{card}/models",
        f"{card}/remedies",
        f"{card}/map",
        f"{card}/table/cues",
        f"{card}/cue?family=word&feature=nobody",
        f"/compare?card={Path(card).name}&card={Path(card).name}",
    ):
        page.goto(address + path)
        page.wait_for_load_state("networkidle")
        if path.endswith("/models"):
            page.locator("td", has_text="relies").first.wait_for()  # a model and its cues are there
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            problems = axe.run(page).response["violations"]
            serious = [
                (one["id"], one["nodes"][0]["html"])
                for one in problems
                if one["impact"] in ("serious", "critical")
            ]
            assert serious == [], (path, scheme)


def test_a_job_survives_a_reload_and_is_cancelled_in_another_tab(page: Any, address: str) -> None:
    page.goto(f"{address}/new")
    page.locator("[name=train]").fill("data/houses_train.csv")
    page.locator("[name=train]").press("Tab")
    page.get_by_text("Task: pair").wait_for()
    page.get_by_role("button", name="Run the audit").click()
    page.wait_for_url("**/jobs/*")
    page.reload()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()
    other.close()


def test_a_card_is_deleted_and_undone(page: Any, address: str) -> None:
    page.goto(address)
    page.locator("tbody th a").first.wait_for()
    before = page.locator("tbody tr").count()
    page.get_by_role("button", name="Delete").first.click()
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").wait_for(state="hidden")
    playwright.expect(page.locator("tbody tr")).to_have_count(before)


def test_points_of_the_map_are_listed_by_a_lasso_and_by_keyboard(page: Any, address: str) -> None:
    page.goto(address)
    card = page.locator("tbody th a").first.get_attribute("href")
    page.goto(f"{address}{card}/map")
    page.locator("[data-map] circle").nth(99).wait_for(state="attached")
    box = page.locator("[data-map]").bounding_box()
    left, top, right, middle = (
        box["x"] + 2,
        box["y"] + 2,
        box["x"] + box["width"] - 2,
        box["y"] + box["height"] / 2,
    )
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, middle), (left, middle), (left, top)):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    playwright.expect(page.locator("[data-note]")).to_have_text("50 of 100 texts on the map")
    assert "<img src=x onerror=" in page.locator("[data-points] li").first.inner_text()
    page.locator("[data-cluster]").focus()
    page.keyboard.press("ArrowDown")
    playwright.expect(page.locator("[data-points] li")).to_have_count(50)
    assert page.title().endswith("CueCard")


def test_examples_are_filtered_and_the_filter_is_in_the_address(page: Any, address: str) -> None:
    page.goto(address)
    card = page.locator("tbody th a").first.get_attribute("href")
    page.goto(f"{address}{card}/examples")
    page.locator("select[name=split]").select_option("test")
    playwright.expect(page.locator("[data-pager] [role=status]")).to_have_text("1 to 25 of 200")
    page.locator("input[name=cue]").fill("word:nobody")
    page.locator(".example mark").first.wait_for()
    page.wait_for_url("**/examples?*cue=word%3Anobody*")
    page.reload()
    page.locator(".example mark").first.wait_for()
    assert page.locator("select[name=split]").input_value() == "test"


def test_a_table_of_the_overview_is_filtered_and_a_whole_table_is_sorted(page: Any, address: str) -> None:
    page.goto(address)
    card = page.locator("tbody th a").first.get_attribute("href")
    page.goto(f"{address}{card}#cues")
    table = page.locator("#cues .table").first
    table.get_by_role("searchbox").fill("nobody")
    assert "nobody" in table.locator("tbody tr:not([hidden])").first.inner_text()
    page.goto(f"{address}{card}/table/cues")
    page.get_by_role("button", name="feature", exact=True).click()
    page.locator("th[aria-sort=ascending]").wait_for()
    first = page.locator("tbody th a").all_inner_texts()
    assert first == sorted(first)


def test_a_threshold_outlines_the_regions_that_deviate_and_names_them(page: Any, address: str) -> None:
    page.goto(address)
    card = page.locator("tbody th a").first.get_attribute("href")
    page.goto(f"{address}{card}/map")
    said = page.locator("[data-said]")
    playwright.expect(said).to_contain_text("1 of 2 regions, 50.0 % of the texts")
    playwright.expect(page.locator("[data-map] .names text")).to_have_text(["nobody, street, house"])
    playwright.expect(page.locator("[data-map] circle.deviates")).to_have_count(50)
    page.locator("[data-threshold]").focus()
    page.keyboard.press("Home")
    playwright.expect(said).to_contain_text("2 of 2 regions")
    playwright.expect(page.locator("[data-map] .edge")).to_have_count(2)
    page.keyboard.press("End")
    playwright.expect(said).to_contain_text("0 of 2 regions")
    playwright.expect(page.locator("[data-map] .edge")).to_have_count(0)
    page.locator("[data-cluster]").select_option(label="nobody, street, house · no 90.0 %")
    page.get_by_role("link", name="See these examples").wait_for()


def test_texts_of_a_concept_are_listed_by_strength_down_to_a_threshold(page: Any, address: str) -> None:
    page.goto(address)
    card = page.locator("tbody th a").first.get_attribute("href")
    page.goto(f"{address}{card}/table/concept_cues")
    page.get_by_role("link", name="ship+sea").click()
    said, listed = page.locator("[data-said]"), page.locator("[data-texts] li")
    playwright.expect(page.locator("[data-lead]")).to_contain_text(
        "80.0 % (95 % CI 70.0 % to 90.0 %) of 2 instances"
    )
    playwright.expect(said).to_have_text("2 distinct texts: 50.0 % yes (95 % CI 10.0 % to 90.0 %)")
    playwright.expect(listed).to_have_count(2)
    playwright.expect(listed.first).to_contain_text(f"{HOSTILE} 3 +0.400")
    page.locator("[data-threshold]").focus()
    page.keyboard.press("End")
    playwright.expect(said).to_contain_text("3 distinct texts: 66.7 % yes")
    playwright.expect(said).to_contain_text("the card's threshold is higher")
    playwright.expect(listed).to_have_count(3)
    page.locator("[data-concept]").select_option(label="maybe+perhaps · no 90.0 %")
    playwright.expect(listed.first).to_contain_text(f"{HOSTILE} 0 +0.400")


def test_a_form_is_as_it_was_after_a_look_at_its_job_which_can_run_again(page: Any, address: str) -> None:
    page.goto(f"{address}/new")
    page.locator("[name=train]").fill("odd.csv")
    page.locator("[name=train]").press("Tab")
    page.get_by_text("The names of the columns are not known").wait_for()
    assert page.get_by_label("Role of two").input_value() == "hypothesis"  # proposed by its values
    page.locator("[name=name]").fill("odd pairs")
    page.locator("[name=only]").first.wait_for()
    page.locator("[name=only][value=cues]").uncheck()
    page.get_by_role("button", name="Run the audit").click()
    page.wait_for_url("**/jobs/*")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()
    first = page.url
    page.get_by_role("button", name="Run it again").click()
    page.wait_for_url(lambda url: "/jobs/" in url and url != first)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled.").wait_for()
    page.go_back()
    page.wait_for_url(first)
    page.go_back()
    page.wait_for_url("**/new")
    page.get_by_text("The names of the columns are not known").wait_for()
    page.locator("[name=only]").first.wait_for()
    assert page.locator("[name=train]").input_value() == "odd.csv"
    assert page.locator("[name=name]").input_value() == "odd pairs"
    assert page.get_by_label("Role of two").input_value() == "hypothesis"
    playwright.expect(page.locator("[name=only][value=cues]")).not_to_be_checked()


def test_a_comparison_says_first_what_changed(page: Any, address: str) -> None:
    page.goto(address)
    card = Path(page.locator("tbody th a").first.get_attribute("href")).name
    page.goto(f"{address}/compare?card={card}&card={card}")
    page.get_by_role("heading", name="Unchanged.").wait_for()
