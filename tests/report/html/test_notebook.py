from __future__ import annotations

from cuecard.card.card import Card
from cuecard.report import notebook_html


def test_a_notebook_shows_headline_figures_and_findings_without_script(card: Card) -> None:
    html = notebook_html(card)
    assert "strong cues" in html
    assert "Cue for contradiction: “nobody”" in html
    assert "<script" not in html


def test_dataset_texts_are_escaped(hostile_card: Card) -> None:
    html = notebook_html(hostile_card)
    assert "<script" not in html
    assert "<img" not in html
    assert "&lt;img src=x" in html
