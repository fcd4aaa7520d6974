"""The board as a page: every row opens its report, and names of datasets are text everywhere."""

from __future__ import annotations

import polars as pl
import pytest

import cuecard as cc
from cuecard.report import write_board
from cuecard.report.board import LISTS
from small_sets import pair_instances

HOSTILE = "<script>document.title='x'</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two cards, one with its report, one of a dataset with a hostile name."""
    place = tmp_path_factory.mktemp("cards")
    rows = [
        ("train", f"premise {i}", f"some {'nice' if i % 2 else 'odd'} words {i}", "yes" if i % 2 else "no")
        for i in range(120)
    ]
    card = cc.audit(pair_instances(rows), only=["overview", "cues", "partial_input"])
    card.save(place / "a")
    dataset = card.dataset.model_copy(update={"name": HOSTILE})
    cc.save_card(card.model_copy(update={"dataset": dataset}), place / "b")
    return place


def test_rows_open_their_reports_and_hostile_names_stay_text(cuecard, folder, tmp_path):
    ran = cuecard("board", folder, "--page", folder / "board.html")
    assert ran.code == 0, ran.err
    page = (folder / "board.html").read_text()
    assert 'href="a/report.html"' in page
    assert "b/report.html" not in page
    assert HOSTILE not in page
    assert "The labels of 2 of 2 datasets can be predicted from part of the input" in ran.out.replace(
        "\n", " "
    )


def test_markdown_has_one_row_per_dataset(folder, tmp_path):
    ranked = cc.board([cc.load_card(folder / "a")])
    text = write_board(ranked, tmp_path / "board.md").read_text()
    row = next(line for line in text.splitlines() if "](" in line)
    assert "hypothesis-only" in row
    assert row.count(" | ") == 5 + len(LISTS) + len(ranked.columns)
    assert row.endswith("| 4 high |")


def test_other_endings_are_refused_before_cards_are_read(cuecard, tmp_path):
    ran = cuecard("board", tmp_path / "nowhere", "--page", tmp_path / "board.pdf")
    assert (ran.code, ran.out) == (2, "")
    assert "written as .html or .md" in ran.err


def test_the_frame_of_the_board_can_be_written(folder):
    table = cc.board([cc.load_card(folder / "a"), cc.load_card(folder / "b")]).table
    assert table.schema["partial_input_high"] == pl.Float64
