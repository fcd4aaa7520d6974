"""Datasets are ranked by what their best shortcut surely gives away, and every column shows its worst measure."""

from __future__ import annotations

import pytest

from cuecard.analysis import Measure
from cuecard.card.board import COLUMNS, board
from cuecard.card.card import Card, DatasetInfo, Provenance, Section, SplitInfo
from cuecard.errors import InputError, UsageError


def share(name: str, value: float, low: float, chance: float = 0.5) -> Measure:
    return Measure(
        name, value, low, 2 * value - low, chance, unit="share", worse="higher", label=f"{name} accuracy"
    )


def points(name: str, value: float, low: float) -> Measure:
    return Measure(name, value, low, 2 * value - low, 0.0, unit="points", worse="higher")


def card_of(name: str, *measures: Measure) -> Card:
    sections: dict[str, Section] = {}
    for section in dict.fromkeys(m.section for m in measures):
        own = [m for m in measures if m.section == section]
        sections[section] = Section(title=section, status="done", measures=own)
    dataset = DatasetInfo(
        name=name,
        task="pair",
        labels=["a", "b"],
        splits={"train": SplitInfo(examples=10, instances=10, labels={"a": 5, "b": 5})},
        fingerprint="0" * 16,
    )
    return Card(dataset=dataset, findings=[], sections=sections, provenance=Provenance())


SURE = card_of(
    "sure",
    share("partial_input.hypothesis_only.accuracy", 0.7, 0.69),
    points("partial_input.hypothesis_only.excess", 0.2, 0.19),
    points("partial_input.length.excess", 0.01, -0.02),
    points("partial_input.position.excess", 0.03, 0.02),
    Measure("cues.cues", 30, n=600, unit="count", worse="higher", label="cues"),
)
UNSURE = card_of(
    "unsure",
    share("partial_input.hypothesis_only.accuracy", 0.9, 0.55),
    points("partial_input.hypothesis_only.excess", 0.4, 0.05),
)
BLANK = card_of("blank", share("partial_input.hypothesis_only.accuracy", 0.5, 0.4))


def test_the_lower_end_of_the_interval_decides_the_ranking():
    ranked = board([BLANK, UNSURE, SURE])
    assert [row.name for row in ranked.rows] == ["sure", "unsure", "blank"]
    assert ranked.rows[0].given_away == pytest.approx((0.69 - 0.5) / 0.5)
    assert ranked.rows[2].shortcut is None


def test_a_column_chooses_the_measure_with_the_largest_lower_end():
    row = board([SURE]).rows[0]
    assert row.cells["partial_input"].measure == "partial_input.hypothesis_only.excess"
    assert row.cells["blind_rule"].measure == "partial_input.position.excess"
    assert row.cells["cues"].value == pytest.approx(50.0)
    assert row.cells["clusters"] is None


def test_sorting_by_a_column_puts_datasets_without_it_last():
    ranked = board([BLANK, SURE, UNSURE], sort="partial_input")
    assert [row.name for row in ranked.rows] == ["unsure", "sure", "blank"]


def test_only_columns_that_a_card_fills_are_shown_and_can_be_sorted_by():
    assert {c.name for c in board([SURE, BLANK]).columns} == {"partial_input", "blind_rule", "cues"}
    with pytest.raises(UsageError, match="can be sorted by given_away, partial_input"):
        board([SURE], sort="clusters")


def test_datasets_of_one_name_are_told_apart_and_the_table_has_every_interval():
    table = board([SURE, SURE]).table
    assert table["name"].to_list() == ["sure (1)", "sure (2)"]
    assert table["partial_input_low"].to_list() == pytest.approx([0.19, 0.19])


def test_a_ranking_of_nothing_is_refused():
    with pytest.raises(UsageError, match="no card to rank"):
        board([])


def test_the_help_names_every_column(cuecard):
    shown = cuecard("board", "--help").out
    assert all(column.name in shown for column in COLUMNS)


def test_folders_without_a_card_are_an_error(tmp_path):
    from cuecard.card import card_folders

    with pytest.raises(InputError, match="there is no card"):
        card_folders(tmp_path)
