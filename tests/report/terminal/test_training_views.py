from __future__ import annotations

from io import StringIO

import polars as pl
import pytest
from rich.console import Console

from cuecard.report.charts.data_map import MOST_POINTS, REGIONS, data_map
from cuecard.report.html.chart_page import write_data_map
from cuecard.report.terminal.verbs import best_epoch_note, chosen_rate, one_answer, render_training


def dynamics(n: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)],
            "split": ["train"] * n,
            "confidence": [i / n for i in range(n)],
            "variability": [0.3 * (1 - abs(2 * i / n - 1)) for i in range(n)],
            "correctness": [round(4 * i / n) / 4 for i in range(n)],
        }
    )


def rows_of(chart, part: int):
    """The rows that the scatter (0) or the bars (1) are drawn from."""
    spec = chart.to_dict()
    panel = spec["hconcat"][part]
    data = (panel["layer"][0] if "layer" in panel else panel)["data"]
    return data["values"] if "values" in data else spec["datasets"][data["name"]]


def test_every_example_of_a_small_set_is_a_point_with_its_correctness():
    shown = rows_of(data_map(dynamics(40)), 0)
    assert len(shown) == 40
    assert {point["correct"] for point in shown} == {"0 %", "25 %", "50 %", "75 %", "100 %"}


def test_a_large_set_is_sampled_and_the_bars_count_all():
    n = MOST_POINTS + 500
    chart = data_map(dynamics(n))
    assert len(rows_of(chart, 0)) == MOST_POINTS
    bars = rows_of(chart, 1)
    assert sum(bar["to"] - bar["from"] for bar in bars) == n


def test_the_map_is_a_valid_chart_and_a_page_that_fetches_nothing(tmp_path):
    data_map(dynamics(30)).to_dict()  # Altair's own check of the specification
    page = write_data_map(dynamics(30), tmp_path / "map.html").read_text()
    assert "ambiguous" in page
    assert 'src="http' not in page


def test_texts_of_a_dataset_cannot_break_out_of_the_page(tmp_path):
    table = dynamics(3).with_columns(example_id=pl.lit("</script><script>alert(1)"))
    page = write_data_map(table, tmp_path / "map.html").read_text()
    assert "<script>alert" not in page


def shown(metrics) -> str:
    console = Console(width=80, record=True, file=StringIO())
    render_training(metrics, console)
    return console.export_text()


@pytest.mark.parametrize("weights", [None, {"effective_share": 0.713, "smallest": 0.1, "largest": 9.0}])
def test_the_terminal_has_scores_of_every_split_in_80_columns(weights):
    part = {
        "examples": 1000, "accuracy": 0.7286, "low": 0.7, "high": 0.75, "chance": 0.34, "log_loss": 0.7,
        "calibration_error": 0.06,
        "labels": {
            "no": {"examples": 500, "predicted": 480, "recall": 0.7, "recall_low": 0.65, "recall_high": 0.75,
                   "precision": 0.72},
            "never": {"examples": 0, "predicted": 0, "recall": None, "recall_low": None, "recall_high": None,
                      "precision": None},
        },
    }  # fmt: skip
    metrics = {
        "model": "bilstm", "condition": "hypothesis", "train_examples": 1000, "data": {"name": "mine"},
        "seconds": {"training": 3.2}, "weights": weights, "splits": {"train": part, "test": part},
    }  # fmt: skip
    text = shown(metrics)
    assert "Precision" in text
    of_preferences = {**metrics, "data": {"name": "mine", "task": "preference"}}
    assert "Precision" not in shown(of_preferences)
    assert "with the hypothesis only" in text
    assert "72.9" in text
    assert "…" not in text
    assert ("71.3" in text) is (weights is not None)


def epochs(*accuracies: float | None) -> list[dict]:
    return [
        {
            "number": i,
            "loss": 1.0,
            "learning_rate": 5e-05,
            "validation_accuracy": a,
            "validation_loss": 1.0 - i / 10,
        }
        for i, a in enumerate(accuracies, start=1)
    ]


@pytest.mark.parametrize(
    ("accuracies", "splits", "said"),
    [
        (
            (0.5, 0.6, 0.7),
            ("train", "dev"),
            "on the dev split after the last of 3 epochs (accuracy 70.0 %): more may help",
        ),
        (
            (0.5, 0.6, 0.55),
            ("train",),
            "the validation split after epoch 2 of 3 (accuracy 60.0 %); this model is kept",
        ),
        ((0.6, 0.6), ("train",), "after the last of 2 epochs"),  # the lower loss decides between equals
        ((0.9, 1.0), ("train",), "after the last of 2 epochs (accuracy 100 %)."),
        ((None, None), ("train",), "2 epochs, no validation split"),
    ],
)
def test_a_reader_learns_after_which_epoch_a_model_was_best(accuracies, splits, said):
    told = best_epoch_note({"epochs": epochs(*accuracies), "splits": dict.fromkeys(splits)})
    assert said in told.replace("\xa0", " ")


def test_nothing_is_said_of_epochs_that_were_not_recorded():
    assert best_epoch_note({"epochs": [], "splits": {}}) == ""


def test_the_learning_rate_is_told_only_where_it_was_chosen():
    told = {"epochs": epochs(0.5), "splits": {}}
    assert "5e-05" in chosen_rate({**told, "parameters": {"learning_rate": 0.0}})
    assert chosen_rate({**told, "parameters": {"learning_rate": 0.001}}) == ""


def test_a_model_that_gives_one_answer_to_all_is_called_out():
    lines = {"yes": {"examples": 5, "predicted": 0}, "no": {"examples": 7, "predicted": 12}}
    assert "predicts no for every test example" in one_answer("test", {"labels": lines})
    lines["yes"]["predicted"] = 1
    assert one_answer("test", {"labels": lines}) == ""
    assert one_answer("test", {"labels": {"no": {"examples": 7, "predicted": 7}}}) == ""


def test_the_map_says_whose_it_is_and_names_regions_where_they_lie():
    spec = data_map(dynamics(40), of="bilstm on mine, hypothesis only").to_dict()
    assert spec["title"]["text"] == "bilstm on mine, hypothesis only: data map of 40 training examples"
    place = {name: (v, c) for name, v, c, _ in REGIONS}
    assert place["easy to learn"][0] < 0.5 < place["easy to learn"][1]
    assert max(place["hard to learn"]) < 0.5 < place["ambiguous"][0]
