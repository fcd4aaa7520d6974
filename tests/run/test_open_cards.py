"""Cards of open answers in everything that reads cards: reports, boards, policies, comparisons, what to type next."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.calibration.open_sets import about, asked, loaded

import cuecard as cc
from cuecard.report.charts.kinds import draw
from cuecard.report.markdown import finding_markdown
from cuecard.report.sections import section_view
from cuecard.run.next_commands import next_commands


def set_of(share: float) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    table = about(
        rng,
        160,
        lambda rng, one: one.candidates[0] if rng.random() < share else str(rng.choice(one.candidates)),
    )
    table["answer"] = ["Riga" if rng.random() < 0.3 else one for one in table["answer"]]
    return pl.DataFrame(table)


@pytest.fixture(scope="module")
def card() -> cc.Card:
    return cc.audit(loaded(set_of(0.5)), command="cuecard audit squad.jsonl --task open")


def test_the_card_leads_with_what_gives_answers_away(card):
    assert {"open_answers/prior", "answer_place/place"} <= {finding.id for finding in card.findings}
    assert "commonest answer" in card.verdict
    assert "label" not in card.verdict


def test_reports_and_issues_show_it(card, tmp_path):
    cc.write_report(card, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    for said in (
        "Exact match of blind rules",
        "Where in the context answers begin",
        "Can answers be given without",
    ):
        assert said in text
    markdown = finding_markdown(card, next(f for f in card.findings if f.id == "open_answers/prior"))
    assert "Question: " in markdown
    assert "Answer: Riga" in markdown


def test_charts_and_tables_are_drawn(card):
    for name in card.sections:
        view = section_view(card, name)
        assert all(draw(chart).to_dict() for chart in view.charts)
        assert all(len(row) == len(table.columns) for table in view.tables for row in table.rows)
    assert [chart.name for chart in section_view(card, "open_answers").charts] == ["rules"]
    assert [chart.name for chart in section_view(card, "answer_place").charts] == ["tenths", "choices"]


def test_the_terminal_says_questions_and_no_labels(card):
    [(command, says)] = next_commands(card)
    assert command == "cuecard probe squad.jsonl --task open --predictions FILE"
    assert says == "test whether a model uses the cues"


def test_the_next_command_of_a_probe_is_an_audit():
    data = loaded(asked(np.random.default_rng(1), 60, range(60)))
    command = "cuecard probe q.jsonl --task open --predictions m.csv"
    card = cc.probe(data, {"m": pl.DataFrame({"prediction": ["x"] * 60})}, command=command)
    assert next_commands(card) == [
        ("cuecard audit q.jsonl --task open --out report", "find what gives the answers away")
    ]
    made = card.provenance.model_copy(update={"command": "cuecard probe --judge judged.jsonl --out judge"})
    assert next_commands(card.model_copy(update={"provenance": made})) == []


def test_boards_policies_and_comparisons_read_its_measures(card, tmp_path):
    [row] = cc.board([card]).rows
    assert row.given_away > 0.1
    assert row.cells["blind_rule"].measure in ("open_answers.prior.excess", "answer_place.first_name.excess")
    policy = tmp_path / "policy.toml"
    policy.write_text('[rules]\n"open_answers.prior.accuracy" = "<= 0.2"\n')
    assert not cc.check(card, policy).passes()
    better = cc.audit(loaded(set_of(0.0)))
    [changes] = cc.compare([card, better])
    changed = {change.measure for change in changes.measures}
    assert {"open_answers.prior.accuracy", "answer_place.first_tenth.share"} <= changed
