"""Several cards side by side: the papers' correlations, and charts that say nothing false."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cuecard.analysis import Measure
from cuecard.card.card import Card, Section
from cuecard.report.charts.comparison import FIGURES, correlation_chart, saturation_map
from cuecard.report.dataset_comparison import COLUMNS, comparison_table, correlate


def with_numbers(card: Card, name: str, accuracies: dict[str, float], **peco: float) -> Card:
    def section(title: str, **values: float) -> Section:
        measures = [Measure(f"{title}.{key.replace('__', '.')}", value) for key, value in values.items()]
        return Section(title=title, status="done", measures=measures, parameters={"scope": "hypothesis"})

    learner = {"mlp__full__accuracy": 0.8, "mlp__hypothesis_only__accuracy": 0.6, "mlp__nba": 0.7}
    baselines = {f"{key}__accuracy": value for key, value in accuracies.items()}
    sections = {
        "partial_input": section(
            "partial_input", **baselines, **(learner if "premise_only" in accuracies else {})
        )
    }
    if peco:
        sections["clusters"] = section("clusters", **({"peco": 5.0, "peco_released": 9.0, "p": -2.0} | peco))
    dataset = card.dataset.model_copy(update={"name": name})
    return Card(dataset=dataset, sections=sections)


@pytest.fixture
def published(oracle: Callable[[str], Path]) -> pl.DataFrame:
    """The printed tables of the PECO paper with the three known misprints put right."""
    tables = json.loads(oracle("paper_tables.json").read_text())["peco"]
    corrected = {k: v for k, v in tables["table3_ssc_corrected"].items() if isinstance(v, float)}
    rows = []
    for key, (ssc, recovered, _) in tables["table3_ssc_rr_dmaj_as_printed"].items():
        name, condition = key.split("/")
        sota, ours, majority = tables["table2_psc_sota_ours_maj"][name]
        nba, nbr, tra, peco = tables["table4_nba_nbr_tra_peco"][key]
        rows.append(
            {
                "name": name,
                "condition": {"s1": "premise", "s2": "hypothesis"}[condition],
                "sota": sota / 100,
                "psc": ours / 100,
                "majority": majority / 100,
                "ssc": corrected.get(key, 38.4 if key == "SNLIdb/s1" else ssc) / 100,
                "recovered": recovered / 100,
                "nba": nba / 100,
                "nbr_released": nbr / 100,
                "tra": tra / 100,
                "peco_released": peco,
            }
        )
    return pl.DataFrame(rows)


@pytest.mark.parametrize(("figure", "printed"), [(3, 0.9688), (5, 0.6896), (6, 0.5659), (7, 0.6367)])
def test_the_papers_correlations_follow_from_its_tables(
    published: pl.DataFrame, figure: int, printed: float
) -> None:
    table = published.unique("name", keep="first", maintain_order=True) if figure == 3 else published
    found = correlate(table, *FIGURES[figure])
    assert found is not None
    assert found.r == pytest.approx(printed, abs=5e-5)
    assert found.low < found.r < found.high


def test_a_comparison_has_a_row_per_card_and_condition(card: Card) -> None:
    both = {"majority": 0.34, "hypothesis_only": 0.6, "choices_only": 0.4, "full": 0.8}
    table = comparison_table(
        [with_numbers(card, "a", both, excess=4.0), with_numbers(card, "b", {"full": 0.9})]
    )
    assert table.columns == list(COLUMNS)
    assert table["name"].to_list() == ["a", "a", "b"]
    first = table.row(0, named=True)
    assert first["condition"] == "hypothesis"
    assert first["recovered"] == pytest.approx(0.75)
    assert first["delta_maj"] == pytest.approx(0.26)
    assert first["peco_excess"] == 4.0
    assert first["peco_p"] == pytest.approx(0.01)
    assert first["nba"] is None
    assert table.row(2, named=True)["peco"] is None
    assert table.row(2, named=True)["recovered"] is None


def test_a_trained_learner_stands_for_its_own_conditions(card: Card) -> None:
    given = {"majority": 0.3, "hypothesis_only": 0.5, "premise_only": 0.4, "full": 0.7}
    (row,) = comparison_table([with_numbers(card, "a", given)]).iter_rows(named=True)
    assert (row["condition"], row["psc"], row["ssc"], row["nba"]) == ("hypothesis", 0.8, 0.6, 0.7)


def test_too_few_or_constant_points_have_no_correlation() -> None:
    assert correlate(pl.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]}), "x", "y") is None
    assert correlate(pl.DataFrame({"x": [1.0, 1.0, 1.0], "y": [1.0, 2.0, 3.0]}), "x", "y") is None
    perfect = correlate(pl.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]}), "x", "y")
    assert perfect is not None
    assert perfect.slope == pytest.approx(2)


def values(spec: Any) -> list[dict[str, Any]]:
    return [row for layer in spec["layer"] for row in layer.get("data", {}).get("values", [])]


def test_charts_hold_every_dataset_and_its_name(published: pl.DataFrame) -> None:
    for chart in (
        saturation_map(published),
        correlation_chart(published, "peco_released", "recovered"),
        correlation_chart(published, "sota", "psc", identity=True),
    ):
        spec = chart.to_dict()
        text = json.dumps(spec)
        assert "SNLI" in text
        assert "OCNLI" in text


def test_charts_of_nothing_are_empty_not_broken() -> None:
    empty = comparison_table([])
    assert saturation_map(empty).to_dict()["layer"]
    assert "too few" in correlation_chart(empty, "peco", "recovered").to_dict()["title"]["text"]


def test_cards_of_one_name_are_points_of_their_own_unless_they_are_conditions_of_one_card(card: Card) -> None:
    one = {"majority": 0.3, "hypothesis_only": 0.5, "full": 0.7}
    both = {**one, "choices_only": 0.4}
    cards = [with_numbers(card, "anli", one), with_numbers(card, "anli", both)]
    table = comparison_table(cards, ["anli (1)", "anli (2)"])
    spec = saturation_map(table).to_dict()
    joined = [row for rows in spec["datasets"].values() for row in rows if "mean" in row]
    assert [(row["name"], row["n"]) for row in joined] == [("anli (2)", 2)]
