"""A card about models finds the audit of the same data in a folder beside it, and its report answers with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import cuecard as cc
from cuecard.card.card import Card
from cuecard.card.files import audit_beside, load_card
from cuecard.report.html.card_page import render_html
from small_sets import pair_instances

ROWS = [
    (split, f"p{i} is here", f"h{i % 7} {'not' if i % 2 else 'so'}", ("no", "yes")[i % 2])
    for split, n in (("train", 120), ("test", 60))
    for i in range(n)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("cards")
    data = pair_instances(ROWS)
    cc.audit(data, only=["overview"], command="cuecard audit a.csv").save(place / "a-small")
    cc.audit(data, only=["overview", "partial_input"], command="cuecard audit a.csv").save(place / "audit")
    cc.audit(pair_instances(ROWS[:-1]), only=["overview", "partial_input"]).save(place / "other")
    return place


@pytest.fixture(scope="module")
def probe(folder: Path) -> Card:
    """A card about models of the data that are audited."""
    card = load_card(folder / "audit").model_copy(deep=True)
    section = card.sections["overview"].model_copy(update={"about": "models", "measures": [], "summary": {}})
    section.status = "skipped"
    card.sections = {"mine": section}
    card.findings = []
    return card


def test_the_audit_with_most_analyses_of_the_same_data_is_found(folder: Path, probe: Card) -> None:
    found = audit_beside(probe, folder / "probe")
    assert found is not None
    assert Path(found.read_from).parent == folder.absolute() / "audit"


def test_an_audit_asks_for_no_other_and_no_card_is_its_own_audit(folder: Path, probe: Card) -> None:
    assert audit_beside(load_card(folder / "audit"), folder / "audit") is None
    assert Path(audit_beside(probe, folder / "audit").read_from).parent.name == "a-small"


def test_damaged_cards_links_and_missing_folders_are_passed_over(
    tmp_path: Path, folder: Path, probe: Card
) -> None:
    assert audit_beside(probe, tmp_path / "nowhere" / "probe") is None
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "card.json").write_text(f'{{"fingerprint": "{probe.dataset.fingerprint}"')
    (tmp_path / "linked").symlink_to(folder / "audit")
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "card.json").symlink_to(folder / "audit" / "card.json")
    assert audit_beside(probe, tmp_path / "probe") is None


def test_the_report_answers_with_the_audit_and_leads_to_it(folder: Path, probe: Card) -> None:
    alone, beside = render_html(probe), render_html(probe, folder / "probe")
    assert "Not tested here." in render_html(probe, folder / "deeper" / "probe")
    assert '<a href="../a-small/report.html">' in alone  # by default, the folder that the card was read from
    assert '<a href="../audit/report.html#partial_input">Can the label be predicted' in beside
    assert '<a href="../audit/report.html">audit of the same data</a>' in beside
