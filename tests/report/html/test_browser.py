"""The report in a real browser: charts are drawn, tables answer, hostile texts stay texts."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable

import pytest

from cuecard.card.card import Card
from cuecard.report.html.card_page import render_html
from pace import PATIENCE

BROWSER = next(
    (p for name in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=15000",
    "--window-size=1280,2000",
]


@pytest.fixture(scope="module")
def open_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return the page's elements as they stand after its scripts have run."""

    def load(html: str) -> str:
        folder = tmp_path_factory.mktemp("browser")
        file = folder / "report.html"
        file.write_text(html, encoding="utf-8")
        assert BROWSER is not None
        command = [
            BROWSER,
            *FLAGS,
            f"--user-data-dir={folder / 'profile'}",
            "--dump-dom",
            file.as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=True)
        return _without_scripts(done.stdout.decode("utf-8"))

    return load


def _without_scripts(dom: str) -> str:
    return re.sub(r"<script.*?</script>", "", dom, flags=re.DOTALL)


def test_charts_are_drawn_and_hostile_texts_never_run(
    hostile_card: Card, open_page: Callable[[str], str]
) -> None:
    html = render_html(hostile_card)
    # Even if a text did become an element, the policy must keep it from running.
    injected = (
        "<script>document.title = 'broken'</script><img src='x:' onerror=\"document.title = 'broken'\">"
    )
    dom = open_page(html.replace("</main>", f"{injected}</main>", 1))
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert title is not None
    assert title[1].endswith("· CueCard")
    assert 'data-charts="drawn"' in dom
    assert dom.count('data-chart="') == dom.count('data-state="drawn"') > 4
    assert dom.count('class="marks"') == dom.count('data-state="drawn"')


CLICK_LEGEND = """<script>
const wait = setInterval(() => {
  if (document.documentElement.dataset.charts !== "drawn") return;
  clearInterval(wait);
  const place = document.querySelector('[data-chart="cues-0"]');
  const faded = () => [...place.querySelectorAll(".mark-symbol.role-mark path")]
    .filter((p) => Number(p.getAttribute("opacity")) < 0.1).length;
  const before = faded();
  const symbol = place.querySelector(".role-legend-symbol path");
  for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) {
    symbol.dispatchEvent(new MouseEvent(type, { bubbles: true, view: window }));
  }
  setTimeout(() => { document.body.dataset.faded = before + " then " + faded(); }, 500);
}, 100);
</script>"""


def without_policy(html: str, script: str) -> str:
    """Return a page that may run a script of the test."""
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    end = html.rindex("</body>")
    return html[:end] + script + html[end:]


def test_a_label_chosen_in_the_legend_of_the_map_fades_the_others(
    card: Card, open_page: Callable[[str], str]
) -> None:
    dom = open_page(without_policy(render_html(card), CLICK_LEGEND))
    faded = re.search(r'data-faded="(\d+) then (\d+)"', dom)
    assert faded is not None
    assert int(faded[1]) == 0
    assert int(faded[2]) > 0
