from __future__ import annotations

import pytest

import cuecard as cc
from cuecard.data.demo import demo_nli
from cuecard.errors import UsageError
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view

CARD = cc.audit(demo_nli(600, seed=3).instances, only=["overview", "cues"], features=("word", "negation"))


def test_a_chart_of_a_section_is_drawn_by_its_name():
    chart = CARD["cues"].chart("map")
    assert type(chart).__module__.startswith("altair")
    assert chart.to_dict() == draw(section_view(CARD, "cues").charts[0]).to_dict()


def test_an_unknown_chart_is_answered_with_the_list():
    with pytest.raises(
        UsageError, match=r"Unknown chart of the section 'cues' 'mop'. Did you mean 'map'"
    ) as told:
        CARD["cues"].chart("mop")
    assert "confirmation" in str(told.value)


def test_names_of_charts_differ_within_a_section_and_can_be_typed():
    for name in CARD.sections:
        charts = [chart.name for chart in section_view(CARD, name).charts]
        assert charts
        assert len(set(charts)) == len(charts)
        assert all(chart.isidentifier() for chart in charts)


def test_a_card_that_was_read_again_draws_too(tmp_path):
    cc.save_card(CARD, tmp_path)
    assert cc.load_card(tmp_path)["overview"].chart("label_balance").to_dict()
