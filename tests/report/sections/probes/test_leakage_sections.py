"""The debiased evaluation and the identical pairs in a report: what is said, tables, valid charts."""

from __future__ import annotations

from io import StringIO

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from cuecard.analysis import Finding
from cuecard.card.card import Section
from cuecard.probes.debiased_evaluation import evaluation_measures
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.report.terminal.card import render_terminal
from cuecard.report.verdict import key_figures, verdict
from cuecard.run import debias
from small_sets import pair_instances

HOSTILE = "<b>model</b>"


def row(model: str, accuracy: float, weighted: float, *, baseline: bool) -> dict[str, object]:
    return {
        "model": model, "n": 500, "accuracy": accuracy, "low": accuracy - 0.04, "high": accuracy + 0.04,
        "weighted_accuracy": weighted, "weighted_low": weighted - 0.06, "weighted_high": weighted + 0.06,
        "effective_n": 300.0, "weights_alone": weighted - 0.01, "change": weighted - accuracy,
        "change_low": None if baseline else weighted - accuracy - 0.02,
        "change_high": None if baseline else weighted - accuracy + 0.02, "baseline": baseline,
    }  # fmt: skip


@pytest.fixture
def card(make_card):
    made = make_card()
    table = pl.DataFrame([row("majority", 0.5, 0.5, baseline=True), row(HOSTILE, 0.8, 0.7, baseline=False)])
    models = {
        str(r["model"]): {k: v for k, v in r.items() if k != "model"} for r in table.iter_rows(named=True)
    }
    summary = {
        "weights": "leakage-neutral", "n": 500, "effective_sample_size": 300.4, "effective_share": 0.6,
        "largest": 20.0, "notes": ["A note."], "models": models,
    }  # fmt: skip
    made.sections["debiased_evaluation"] = Section(
        title="Debiased evaluation",
        status="done",
        about="models",
        summary=summary,
        measures=evaluation_measures(summary),
    )
    boxes = pl.DataFrame(
        {
            "model": [HOSTILE, HOSTILE], "frequency": [1, 10], "n": [7, 3], "q1": 0.4, "median": 0.5, "q3": 0.6,
            "mean": 0.5, "matched": 0.5, "low": 0.1, "high": 0.9, "outliers": [1, 0],
        }
    )  # fmt: skip
    found = {"n": 10, "mean": 0.5, "matched": 0.5, "rho": 0.25, "p_value": 0.01}
    made.sections["identical_pairs"] = Section(
        title="Identical pairs",
        status="done",
        about="models",
        summary={"models": {HOSTILE: found}, "last": 10, "pairs": 10},
    )
    made.attach({**made.tables, "debiased_evaluation": table, "identical_pairs": boxes})
    return made


def test_both_accuracies_are_said_with_what_the_weights_cost(card):
    view = section_view(card, "debiased_evaluation")
    words = " ".join(view.lead).replace("\N{NO-BREAK SPACE}", " ")
    assert "the effective sample size is 300 of 500 test examples" in words
    assert "80.0 %, and 70.0 % (95 % CI 64.0 % to 76.0 %) on the reweighted test set" in words
    assert list(view.notes) == ["A note."]
    (table,) = view.tables
    assert [column.title for column in table.columns][-1] == "Effective n"
    written = [column.write(value) for column, value in zip(table.columns, table.rows[1], strict=True)]
    assert written[7:10] == ["−10.0", "−12.0", "−8.0"]
    assert table.rows[0][8] is None


def test_a_terminal_of_80_columns_has_room_for_the_whole_interval_of_the_change(card):
    printed = StringIO()
    render_terminal(card, Console(file=printed, width=80))
    (line,) = [line for line in printed.getvalue().splitlines() if "−10.0" in line]
    assert line.split()[0] == HOSTILE
    assert line.split()[-3:] == ["−10.0", "−12.0", "−8.0"]


def test_a_card_of_the_evaluation_alone_is_headed_by_both_accuracies(card):
    card.sections = {"debiased_evaluation": card.sections["debiased_evaluation"]}
    headline = verdict(card).headline.replace("\N{NO-BREAK SPACE}", " ")
    assert headline.endswith("model</b> has an accuracy of 80.0 %, 70.0 % reweighted.")
    (figure,) = key_figures(card)
    assert "70.0" in figure.detail
    assert figure.value.startswith("80.0")


def test_what_models_do_says_nothing_against_the_data(card):
    card.sections = {
        "identical_pairs": card.sections["identical_pairs"],
        "overview": card.sections["overview"],
    }
    serious = Finding(section="identical_pairs", severity="medium", title="t", text="t", command="")
    card.findings = [serious]
    assert "contains cues" not in verdict(card).headline


def test_the_last_box_says_or_more(card):
    view = section_view(card, "identical_pairs")
    assert "10 sentences of the training set" in view.lead[0]
    assert "ρ with frequency is +0.25 (p = 0.010)" in view.lead[1]
    assert [r[1] for r in view.tables[0].rows] == ["1", "10+"]


def test_models_stand_beside_each_other_at_every_frequency(card):
    boxes = card.tables["identical_pairs"]
    both = pl.concat([boxes, boxes.with_columns(model=pl.lit("a"))])
    card.attach({**card.tables, "identical_pairs": both})
    rows = section_view(card, "identical_pairs").tables[0].rows
    assert [r[:2] for r in rows] == [(HOSTILE, "1"), ("a", "1"), (HOSTILE, "10+"), ("a", "10+")]


@pytest.mark.parametrize("name", ["debiased_evaluation", "identical_pairs"])
def test_charts_are_valid_specifications_without_markup(card, name):
    (chart,) = section_view(card, name).charts
    spec = draw(chart).to_dict()
    assert spec["layer"]
    assert "<b>" not in chart.title


def test_weights_are_shown_by_split_with_the_leak_before_and_after(make_card):
    made = make_card()
    split = {"examples": 40, "effective_sample_size": 30.0, "smallest": 0.5, "largest": 9.0}
    summary = {
        "leakage_accuracy": {
            "unweighted": {"accuracy": 0.7, "low": 0.65, "high": 0.75},
            "weighted": {"accuracy": 0.5, "low": 0.4, "high": 0.6},
        },
        "majority": {"unweighted": 0.5, "weighted": 0.5}, "effective_share": 0.75, "largest": 9.0, "infinite": 1,
        "clipped": 2, "splits": {"train": {**split, "infinite": 1, "clipped": 2}}, "quantiles": {"0.5": 1.0},
        "unweighted_splits": ["test"],
    }  # fmt: skip
    made.sections["neutral_weights"] = Section(title="Weights", status="done", summary=summary)
    view = section_view(made, "neutral_weights")
    words = view.lead[0].replace("\N{NO-BREAK SPACE}", " ")
    assert (
        "70.0 % (95 % CI 65.0 % to 75.0 %) unweighted and 50.0 % (95 % CI 40.0 % to 60.0 %) with these weights"
        in words
    )
    assert view.tables[0].rows == [("train", 40, 30.0, 0.75, 0.5, 9.0, 1, 2)]
    assert "Not reweighted, because all examples have the same label: test." in view.notes


def test_audits_repeated_under_leakage_neutral_weights_are_in_the_report():
    rng = np.random.default_rng(0)
    rows = [
        ("train", f"p{rng.integers(40)}", f"h{rng.integers(40)}", "yn"[int(rng.integers(2))])
        for _ in range(300)
    ]
    made = debias(pair_instances(rows), "neutral", trees=5, folds=2, reaudit="overview").card
    table = section_view(made, "neutral_weights").tables[0]
    assert table.title == "Audits before and after"
    assert [row[:2] for row in table.rows][:2] == [
        ("overview", "share of n in the training set"),
        ("overview", "share of y in the training set"),
    ]
