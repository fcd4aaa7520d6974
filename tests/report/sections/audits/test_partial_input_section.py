from __future__ import annotations

import pytest

from cuecard.audits import PartialInput
from cuecard.card.card import Card
from cuecard.data.demo import Demo, demo_choice, demo_nli
from cuecard.report.charts.drawing import specification
from cuecard.report.charts.kinds import draw
from cuecard.report.html.card_page import render_html
from cuecard.report.sections import section_view
from cuecard.run import audit


def card_of(demo: Demo) -> Card:
    return audit(demo.instances, only=["partial_input"])


@pytest.fixture(scope="module")
def leaking() -> Card:
    return card_of(demo_nli(900, seed=0))


@pytest.fixture(scope="module")
def clean() -> Card:
    return card_of(demo_choice(200, test_fraction=0, seed=0, cues=None))


def words(card: Card) -> str:
    return " ".join(section_view(card, "partial_input").lead).replace("\N{NO-BREAK SPACE}", " ")


def test_the_lead_says_score_chance_and_whether_they_differ(leaking: Card, clean: Card) -> None:
    line = next(b for b in leaking["partial_input"].summary["baselines"] if b["name"] == "hypothesis_only")
    assert f"{100 * line['accuracy']:.1f} % on 225 test examples" in words(leaking)
    assert words(leaking).count("better than chance") == 1
    assert "Premise-only accuracy is at chance" in words(leaking)
    assert "Chance is 25.0 %; the model is not significantly different from chance" in words(clean)
    assert "200 examples" in words(clean)


def test_every_chart_is_drawn_from_the_tables_of_the_card(leaking: Card, clean: Card) -> None:
    for card in (leaking, clean):
        charts = section_view(card, "partial_input").charts
        assert [chart.title for chart in charts] == [
            "Baselines",
            "Leak scores",
            "Learning curve",
            "Accuracy by slice",
        ]
        for chart in charts:
            assert draw(chart).to_dict()["$schema"]


def test_the_histogram_draws_every_scored_example_of_the_evaluated_split(leaking: Card) -> None:
    chart = section_view(leaking, "partial_input").charts[1]
    datasets = specification(draw(chart))["datasets"].values()
    [bars] = [rows for rows in datasets if "count" in rows[0]]  # the other one is the line of chance
    assert sum(row["count"] for row in bars) == 225


def test_the_battery_and_the_most_leaking_examples_are_tables(leaking: Card) -> None:
    battery, examples = section_view(leaking, "partial_input").tables
    assert [row[0] for row in battery.rows][-1] == "full"
    assert len(examples.rows) == 25
    assert examples.total == PartialInput().shown_examples


def test_the_whole_report_renders_with_the_section(leaking: Card) -> None:
    html = render_html(leaking)
    assert "Examples that leak most" in html
    assert "partial_input-0" in html


def test_the_lead_names_the_auc_where_the_accuracy_is_not_above_chance(leaking: Card) -> None:
    section = leaking.sections["partial_input"]
    lines = [
        line | {"low": line["chance"] - 0.01, "auc": 0.629}
        if line["name"] == section.summary["primary"]
        else line
        for line in section.summary["baselines"]
    ]
    ranked = section.model_copy(update={"summary": section.summary | {"baselines": lines}})
    card = leaking.model_copy(update={"sections": leaking.sections | {"partial_input": ranked}})
    assert "better than chance by its AUC of 0.629 (chance 0.5), not by its accuracy." in words(card)
