"""Datasets are ranked by what their best shortcut surely gives away, and every column shows its worst measure."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import cuecard as cc
from cuecard.analysis import Finding, Measure
from cuecard.card.board import COLUMNS, board
from cuecard.card.card import Card, DatasetInfo, Provenance, Section, SplitInfo
from cuecard.errors import InputError, UsageError
from cuecard.report.board import lead_text, shortcut_text, source_text, write_badges


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


def test_what_was_not_tested_is_not_zero():
    untested = card_of("untested", Measure("overview.repeated", 0.0, unit="share", worse="higher"))
    ranked = board([untested, BLANK, SURE])
    assert [row.name for row in ranked.rows] == ["sure", "blank", "untested"]
    last = ranked.rows[-1]
    assert (last.given_away, shortcut_text(last)) == (None, "not tested")
    assert ranked.table["given_away"].to_list()[1:] == [0.0, None]
    assert lead_text(ranked).startswith("The labels of 1 of 2 datasets can be predicted")
    assert lead_text(ranked).endswith(" 1 dataset was not tested.")
    assert lead_text(board([untested])).startswith("No dataset was tested")


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


def test_a_shortcut_on_a_slice_is_named_with_its_slice():
    rows = [
        {
            "prompt": f"ask {i}",
            "chosen": "yes it is " * (1 + i % 2),
            "rejected": "no it is " * (2 - i % 2),
            "of": "ab"[i % 2],
        }
        for i in range(200)
    ]
    card = cc.audit(pl.DataFrame(rows), only=["slices"])
    cell = board([card]).rows[0].cells["slice"]
    strongest = {row["rule"]: row["value"] for row in card.sections["slices"].summary["strongest"]}
    value = strongest[cell.measure.split(".")[1]]
    assert f"where of = {value}" in cell.label
    assert source_text(next(c for c in COLUMNS if c.name == "slice"), cell).endswith(f"where of = {value}")


def test_sorting_by_a_column_puts_datasets_without_it_last():
    ranked = board([BLANK, SURE, UNSURE], sort="partial_input")
    assert [row.name for row in ranked.rows] == ["unsure", "sure", "blank"]


def test_only_columns_that_a_card_fills_are_shown_and_can_be_sorted_by():
    assert {c.name for c in board([SURE, BLANK]).columns} == {"partial_input", "blind_rule", "cues"}
    with pytest.raises(UsageError, match="can be sorted by given_away, partial_input"):
        board([SURE], sort="clusters")


def test_datasets_of_one_name_are_told_apart_and_the_table_has_every_interval():
    other = SURE.model_copy(update={"dataset": SURE.dataset.model_copy(update={"fingerprint": "1" * 16})})
    table = board([SURE, other]).table
    assert table["name"].to_list() == ["sure (1)", "sure (2)"]
    assert table["partial_input_low"].to_list() == pytest.approx([0.19, 0.19])


def test_datasets_of_one_name_are_called_by_their_folders():
    other = SURE.model_copy(update={"dataset": SURE.dataset.model_copy(update={"fingerprint": "1" * 16})})
    first = SURE.model_copy()
    first._read_from, other._read_from = "cards/old/card.json", "cards/new/card.json"
    assert [row.name for row in board([first, other]).rows] == ["sure (new)", "sure (old)"]


def test_cards_about_the_same_data_share_a_row():
    probe = card_of("sure", share("debiased_evaluation.weighted_accuracy.bert", 0.8, 0.78))
    [row] = board([SURE, probe]).rows
    assert row.name == "sure"
    assert row.cells["model"].value == 0.8
    assert row.cells["cues"].value == pytest.approx(50.0)


def test_a_row_states_the_shortcut_and_its_cells_from_the_same_card():
    again = card_of(
        "sure",
        share("partial_input.hypothesis_only.accuracy", 0.9, 0.88),
        points("partial_input.hypothesis_only.excess", 0.4, 0.38),
    )
    [row] = board([SURE, again]).rows
    assert row.cells["partial_input"].value == 0.2
    assert row.given_away == pytest.approx((0.69 - 0.5) / 0.5)
    stopped = {"partial_input": Section(title="Partial input", status="failed")}
    [row] = board([SURE.model_copy(update={"sections": stopped}), again]).rows
    assert row.cells["partial_input"].value == 0.4
    assert row.given_away == pytest.approx((0.88 - 0.5) / 0.5)


def test_an_auc_counts_where_no_accuracy_beats_chance():
    auc = Measure(
        "partial_input.hypothesis_only.auc", 0.63, 0.6, 0.66, 0.5, unit="score", worse="higher", label="AUC"
    )
    ranks = card_of("ranks", share("partial_input.hypothesis_only.accuracy", 0.5, 0.4), auc)
    finding = Finding(
        "partial_input", "medium", "AUC", "It ranks.", 0.63, 0.6, 0.66, 0.5, 10, key="auc", unit="score"
    )
    [row] = board([ranks.model_copy(update={"findings": [finding]})]).rows
    assert row.given_away == pytest.approx(0.2)
    assert shortcut_text(row) == "AUC 0.63 (chance 0.5)"


def test_a_shortcut_that_was_graded_by_its_auc_is_shown_with_it():
    auc = Measure(
        "partial_input.premise_only.auc", 0.66, 0.63, 0.69, 0.5, unit="score", worse="higher", label="AUC"
    )
    accuracy = share("partial_input.premise_only.accuracy", 0.70, 0.677, chance=0.665)
    both = card_of("both", accuracy, auc)
    said = Finding(
        "partial_input", "medium", "Accuracy", "It predicts.", 0.70, 0.677, 0.72, 0.665, 10, key="accuracy"
    )
    [row] = board([both.model_copy(update={"findings": [said]})]).rows
    assert shortcut_text(row) == "AUC 0.66 (chance 0.5)"
    assert row.given_away == pytest.approx(0.26)
    [plain] = board([both.model_copy(update={"findings": [replace(said, severity="low")]})]).rows
    assert shortcut_text(plain).startswith("partial_input.premise_only.accuracy 70.0")


def test_every_dataset_has_a_badge(tmp_path):
    ranked = board([SURE, BLANK])
    assert {file.name for file in write_badges(ranked, tmp_path)} == {"sure.svg", "blank.svg"}
    assert "no cue found" in (tmp_path / "sure.svg").read_text()
    assert "no finding, cues not tested" in (tmp_path / "blank.svg").read_text()


def test_the_badge_of_data_whose_audits_failed_does_not_say_that_nothing_was_found(tmp_path):
    failed = SURE.model_copy(update={"sections": {"cues": Section(title="Cues", status="failed")}})
    [file] = write_badges(board([failed]), tmp_path)
    assert "not tested" in file.read_text()


def test_datasets_whose_names_make_one_file_name_have_a_badge_each(tmp_path):
    named = BLANK.dataset.model_copy(update={"name": "sure?"})
    ranked = board([SURE, BLANK.model_copy(update={"dataset": named})])
    assert [file.name for file in write_badges(ranked, tmp_path)] == ["sure.svg", "sure-2.svg"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_number_behind_a_file_name_is_not_that_of_another_dataset(tmp_path):
    cards = [card_of(name, share("cues.accuracy", 0.5, 0.4)) for name in ("sure", "sure!", "sure-2")]
    files = write_badges(board(cards), tmp_path)
    assert len(set(files)) == 3


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


def test_a_file_that_is_no_card_is_named(tmp_path, monkeypatch):
    from cuecard.card import card_folders

    (tmp_path / "empty.csv").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^empty\.csv is not a card: give the folder .* --out FOLDER"):
        card_folders("empty.csv")
    with pytest.raises(InputError, match=r"^\.: there is no card; .* --out FOLDER`"):
        card_folders(".")
