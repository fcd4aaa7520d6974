"""The pair graph in a report: what is said and that every chart is a valid specification."""

from __future__ import annotations

from io import StringIO

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from cuecard.card.card import Card
from cuecard.data import Instances
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.report.terminal.card import render_terminal
from cuecard.run import audit


@pytest.fixture(scope="module", params=[2, 3])
def leaky_card(request: pytest.FixtureRequest) -> Card:
    rng = np.random.default_rng(0)
    n, k = 600, request.param
    label = rng.integers(0, k, n)
    repeats = rng.random(n) < np.where(label == 0, 0.9, 0.2)
    second = [f"s{rng.integers(0, 9)}" if again else f"new {i}" for i, again in enumerate(repeats)]
    labels = [f"<b>label {i}</b>" for i in range(k)]
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)], "position": 0, "split": ["train"] * 400 + ["test"] * 200,
            "premise": [f"p{i // 2}" for i in range(n)], "hypothesis": second,
            "label": pl.Series([labels[y] for y in label]).cast(pl.Enum(labels)),
        }
    )  # fmt: skip
    data = Instances(table, "pair", tuple(labels))
    return audit(data, only=["pair_graph"], forest="fast", advanced=False, unlexicalized=False)


def test_the_lead_says_accuracy_majority_and_what_train_alone_gives(leaky_card: Card) -> None:
    summary = leaky_card["pair_graph"].summary
    words = " ".join(section_view(leaky_card, "pair_graph").lead).replace("\N{NO-BREAK SPACE}", " ")
    assert f"accuracy of {100 * summary['accuracy']['leakage']:.1f} % on 200 examples" in words
    assert "With a graph of the training set only, the accuracy is" in words
    graph = summary["graph"]
    assert (
        f"600 pairs connect {graph['sentences']} distinct sentences; {graph['sentences_repeated']} occur"
        in words
    )
    assert "with itself" not in words


def test_a_terminal_of_80_columns_shows_whole_names_and_two_decimals(leaky_card: Card) -> None:
    printed = StringIO()
    render_terminal(leaky_card, Console(file=printed, width=80))
    (line,) = [
        line for line in printed.getvalue().splitlines() if "frequency of the second sentence  " in line
    ]
    assert f"{100 * leaky_card['pair_graph'].summary['accuracy']['s2_freq']:.2f}" in line


def test_self_pairs_and_a_graph_without_repeats_are_said(leaky_card: Card) -> None:
    card = leaky_card.model_copy(deep=True)
    graph = card["pair_graph"].summary["graph"]
    graph |= {"sentences": 1200, "sentences_repeated": 0, "self_pairs": 2}
    said = section_view(card, "pair_graph").lead[-1]
    assert said == (
        "600 pairs connect 1,200 distinct sentences; none occurs more than once, and 2 pairs connect a sentence with "
        "itself."
    )


def test_every_chart_is_a_valid_specification_with_data(leaky_card: Card) -> None:
    charts = section_view(leaky_card, "pair_graph").charts
    assert len(charts) == 4
    for chart in charts:
        spec = draw(chart).to_dict()
        assert "<b>" not in chart.title
        assert spec["datasets"] if "datasets" in spec else "values" in str(spec)


def test_a_graph_in_which_every_sentence_occurs_once_has_no_empty_charts(leaky_card: Card) -> None:
    card = leaky_card.model_copy(deep=True)
    by_frequency = leaky_card.tables["pair_graph_by_frequency"]
    flat = leaky_card.tables["pair_graph_quantiles"].with_columns(share=pl.lit(0.05))
    once = {"pair_graph_by_frequency": by_frequency.filter(pl.col("from") == 1), "pair_graph_quantiles": flat}
    card.attach(dict(leaky_card.tables) | once)
    assert [chart.name for chart in section_view(card, "pair_graph").charts] == ["accuracy"]


def test_a_feature_of_one_value_has_no_curve(leaky_card: Card) -> None:
    card = leaky_card.model_copy(deep=True)
    quantiles = leaky_card.tables["pair_graph_quantiles"]
    walks = pl.col("feature") == "s1s2_inter"
    flat = quantiles.with_columns(share=pl.when(walks).then(0.05).otherwise("share"))
    card.attach(dict(leaky_card.tables) | {"pair_graph_quantiles": flat})
    [chart] = [c for c in section_view(card, "pair_graph").charts if c.name == "similarity"]
    drawn = {row["feature"] for rows in draw(chart).to_dict()["datasets"].values() for row in rows}
    assert "two-step walks" not in drawn
    assert "frequency of the second sentence" in drawn


def test_the_table_lists_every_set_of_features(leaky_card: Card) -> None:
    (table,) = section_view(leaky_card, "pair_graph").tables
    assert table.total == 7
    assert table.rows[0][0] == "all three features"
    assert [column.title for column in table.columns] == [
        "Features",
        "Accuracy",
        "CI low",
        "CI high",
        "AUC",
        "AUC CI low",
        "AUC CI high",
        "p, log score",
        "q",
        "Examples",
    ]
    assert table.rows[0][8] == leaky_card["pair_graph"].summary["intervals"]["leakage"]["q_value"]


def test_what_was_left_out_is_said_with_the_option_that_computes_it(leaky_card: Card) -> None:
    notes = section_view(leaky_card, "pair_graph").notes
    assert len(notes) == 2
    assert "--set pair_graph.advanced=true" in notes[0]
