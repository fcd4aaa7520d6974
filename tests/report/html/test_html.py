from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cuecard.card.card import Card
from cuecard.errors import InputError
from cuecard.report.html.card_page import render_html, write_report
from cuecard.report.html.page import script_json, security_policy


class Page(HTMLParser):
    """What a browser would see: tags with their attributes, and visible text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


@pytest.fixture(scope="module")
def html(card: Card) -> str:
    return render_html(card)


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def test_the_headline_and_the_findings_come_before_the_sections(page: Page) -> None:
    order = [page.text.index(words) for words in ("strong cues", "Cue for contradiction", "Map of cues")]
    assert order == sorted(order)


def test_a_finding_shows_number_interval_chance_and_examples(page: Page) -> None:
    for words in ("81.4 %", "78.8 % to 83.7 %", "33.3 %", "992", "cuecard explain nobody", "train-7"):
        assert words in page.text


def test_the_cue_is_marked_only_where_it_was_looked_for(html: str) -> None:
    assert "Here <mark>nobody</mark> walks." in html
    assert "A man and nobody walk." in html


def test_the_command_of_the_audit_is_not_repeated_with_every_finding(make_card: Callable[..., Card]) -> None:
    card = make_card()
    same = replace(card.findings[0], command=card.provenance.command)
    html = render_html(card.model_copy(update={"findings": [same]}))
    assert '<p class="act">' in render_html(card)
    assert '<p class="act">' not in html
    assert card.provenance.command in Page(html).text


def test_every_section_says_what_became_of_it(page: Page) -> None:
    assert "Skipped. there is no test split" in page.text
    assert "Failed. ValueError: no pairs" in page.text
    assert "accuracy73.1 %" in page.text


def test_the_foot_names_command_and_fingerprint(page: Page) -> None:
    assert "cuecard audit tiny.parquet" in page.text
    assert "b2:0123abcd" in page.text


def test_there_is_one_place_and_one_description_per_chart(html: str, page: Page) -> None:
    places = [attrs["data-chart"] for _, attrs in page.tags if "data-chart" in attrs]
    charts = payload(html)["charts"]
    assert sorted(set(places)) == sorted(charts)
    assert [place for place in charts if places.count(place) > 1] == [
        "cues-0"
    ]  # the map, on the first screen as well
    assert len(charts) >= 6
    assert all(spec["description"] for spec in charts.values())


def test_charts_carry_no_colours_of_their_own(html: str) -> None:
    charts = payload(html)["charts"]
    assert not re.findall(r"#[0-9a-f]{6}", json.dumps(charts))


def test_the_page_can_be_used_without_a_mouse_or_eyes(page: Page) -> None:
    assert {"header", "nav", "main", "footer"} <= {tag for tag, _ in page.tags}
    assert page.count("h1") == 1
    headers = [attrs for tag, attrs in page.tags if tag == "th"]
    assert headers
    assert all(attrs.get("scope") in ("col", "row") for attrs in headers)
    ids = [attrs["id"] for _, attrs in page.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    labelled = {i for _, attrs in page.tags for i in (attrs.get("aria-labelledby") or "").split()}
    assert labelled <= set(ids)


def test_nothing_is_fetched(page: Page) -> None:
    links = [attrs.get(name) for _, attrs in page.tags for name in ("src", "href") if attrs.get(name)]
    assert all(link is not None and link.startswith("#") for link in links)


def test_the_chart_library_is_there_once_and_the_file_stays_small(html: str) -> None:
    assert html.count("window.vegaEmbed=") == 1
    assert len(html.encode()) < 1_500_000


def test_the_same_card_gives_the_same_report(card: Card, html: str) -> None:
    assert render_html(card) == html


def test_hostile_texts_add_no_element(hostile_card: Card, page: Page) -> None:
    broken = Page(render_html(hostile_card))
    assert broken.count("script") == page.count("script")
    assert broken.count("img") == 0
    assert "<img src=x onerror=" in broken.text
    assert not [attrs for _, attrs in broken.tags if any(name.startswith("on") for name in attrs)]


def test_json_in_a_script_cannot_end_it() -> None:
    texts = ["</script>", "<!--", "a&b", "\u2028\u2029"]
    written = script_json(texts)
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == texts


def test_the_policy_names_the_scripts_and_allows_no_evaluation() -> None:
    policy = security_policy(["1"])
    assert "script-src 'sha256-" in policy
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy


def test_a_report_is_written_whole_or_not_at_all(
    card: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "deep" / "report.html"
    assert write_report(card, path) == path
    before = path.read_text(encoding="utf-8")

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(InputError, match=r"cannot be written .disk full"):
        write_report(card, path)
    assert path.read_text(encoding="utf-8") == before
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_a_place_that_cannot_be_written_is_the_users_to_change(card: Card, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="choose another path"):
        write_report(card, tmp_path / "file" / "report.html")


def payload(html: str) -> dict[str, dict[str, dict[str, object]]]:
    found = re.search(r'<script type="application/json" id="cuecard-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]
