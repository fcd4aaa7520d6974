"""The report of an audit with a trained learner shows where it looks."""

from __future__ import annotations

import numpy as np

import cuecard as cc
from cuecard.report.sections import section_view
from small_sets import pair_instances

WORDS = ["dog", "cat", "house", "tree", "boat", "lake", "<b>bold</b>"]


def data():
    generator = np.random.default_rng(0)
    rows = []
    for i in range(150):
        first, second = generator.choice(WORDS, size=2)
        rows.append(
            (
                "train" if i < 100 else "test",
                f"the {first}",
                f"the {second} {['moves', 'never'][i % 2]}",
                "ab"[i % 2],
            )
        )
    return pair_instances(rows)


def test_a_learner_s_maps_stand_in_its_section():
    card = cc.audit(data(), only=["partial_input"], learner=("linear",))
    view = section_view(card, "partial_input")
    assert [maps.title for maps in view.maps] == ["Saliency maps of linear"]
    page = cc.render_html(card)
    assert page.count('<figure class="saliency">') == card.tables["saliency_maps"].height == 12
    assert page.count("<dt>hypothesis only</dt>") == 12
    assert "never" in page
    assert "<b>bold</b>" not in page


def test_an_audit_without_learners_shows_none():
    card = cc.audit(data(), only=["partial_input"])
    assert not section_view(card, "partial_input").maps
    assert '<figure class="saliency">' not in cc.render_html(card)
