from __future__ import annotations

import numpy as np
import pytest

from cuecard.card import Card
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.html.card_page import render_html
from cuecard.report.sections import section_view
from cuecard.report.verdict import key_figures, verdict
from cuecard.run import debias
from small_sets import pair_instances

ATTACK = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def weights_card() -> Card:
    """Weights for pairs in which a word goes with one label, and another never meets the hostile one."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(240):
        label = "yes" if i % 2 else ATTACK
        cue = "cue" if rng.random() < (0.6 if i % 2 else 0.2) else "plain"
        only = "alone" if i % 2 and i % 3 == 0 else ""
        rows.append(("train", "", f"text w{i % 5} {cue} {only}", label))
    return debias(pair_instances(rows), min_count=20, trade_off=(0.1, 1.0)).card


def test_the_view_shows_before_and_after_and_what_cannot_be_balanced(weights_card):
    view = section_view(weights_card, "lexical_weights")
    assert [chart.title for chart in view.charts] == [
        "Label balance of the strongest words",
        "Weights",
        "Balance and effective sample size",
    ]
    for chart in view.charts:
        draw(chart).to_dict()  # Altair checks it
        assert specification(draw(chart))["layer"]
    titles = [table.title for table in view.tables]
    assert titles[0] == "Before and after"
    assert titles[-1] == "Features that stay unbalanced"
    assert f"never occurs with {ATTACK}" in str(view.tables[-1].rows)
    assert "effective sample size" in view.lead[0]
    balanced = next(table for table in view.tables if table.title == "Balanced features")
    names = [row[0] for row in balanced.rows]
    assert "cue" in names
    assert "alone" not in names
    # Counts of features are in the sentence; beside it they would pass for counts of examples.
    assert {f.n for f in weights_card.findings if f.n is not None} == {240}


def test_the_headline_is_about_weights_and_not_about_flaws(weights_card):
    said = verdict(weights_card)
    assert said.headline.startswith("Weights for pairs: the effective sample size is")
    assert [figure.label for figure in key_figures(weights_card)] == [
        "effective sample size",
        "largest weight (mean 1)",
    ]


def test_a_hostile_label_stays_text(weights_card):
    html = render_html(weights_card)
    assert ATTACK not in html
    assert "it never occurs with" in html
