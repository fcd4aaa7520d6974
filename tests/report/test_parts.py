"""Other ways in which the data say the same are shown with a finding."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

import cuecard as cc
from cuecard.card import Card
from cuecard.report import finding_markdown, render_html, render_terminal


@pytest.fixture(scope="module")
def card() -> Card:
    rows = [
        {
            "premise": f"p{i}",
            "hypothesis": f"a{i} b{i % 7} nodi falu" if i % 3 == 0 else f"a{i} b{i % 7} c{i % 5}",
            "label": "no" if i % 3 == 0 else "yes",
        }
        for i in range(300)
    ]
    return cc.audit(cc.load(rows), only=["cues"], features=("word", "bigram"))


def test_parts_are_named_in_terminal_report_and_markdown(card: Card) -> None:
    finding = next(one for one in card.findings if one.parts)
    assert finding.cue in ("nodi", "falu", "bigram:nodi falu")
    out = StringIO()
    render_terminal(card, Console(file=out, width=100))
    for text in (out.getvalue(), render_html(card), finding_markdown(card, finding)):
        assert "Overlaps with: " in text
