"""The page that counts the papers' items: counts follow from rows; a row says how, or what is missing."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from typer.main import get_command

from cuecard.cli.main import app
from cuecard.data import get_preset

PAGE = (Path(__file__).parents[2] / "docs" / "paper-items.md").read_text(encoding="utf-8")
TITLES = ("ICQ", "Stubborn Lexical Bias", "Selection Bias", "PECO")
STATES = ("full", "partial", "impossible")


def rows_of(title: str) -> list[list[str]]:
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if re.match(r"\| \d+ \|", line)]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_counts_at_the_top_are_those_of_the_rows():
    counted = {title: Counter(row[3] for row in rows_of(title)) for title in TITLES}
    counted["all"] = sum(counted.values(), Counter())
    for title, counts in counted.items():
        cells = [title, counts.total(), *(counts[state] for state in STATES)]
        assert f"| {' | '.join(map(str, cells))} |" in PAGE, cells
    assert f"{counted['all'].total()} items" in PAGE
    assert set(counted["all"]) == set(STATES)


def test_what_is_missing_adds_up_to_the_items_that_are_not_full():
    missing = [row[4] for title in TITLES for row in rows_of(title) if row[3] != "full"]
    causes = Counter(("data: " in cell, "checkpoint: " in cell) for cell in missing)
    data, checkpoint, both, drawings = (
        causes[key] for key in ((True, False), (False, True), (True, True), (False, False))
    )
    assert (
        f"Of the {len(missing)} items that are not full, {data} need data, {checkpoint} need a checkpoint, {both} need "
        f"both, and {drawings} are drawings:\nwith what is available, {175 - len(missing)} of 175 is the most."
    ) in PAGE
    snli = missing.count("data: SNLI's whole training set")
    quora = missing.count("data: the whole training set of Quora")
    assert (
        f"{snli} items need nothing but the whole training set of SNLI, {quora} nothing but that of\nQuora"
        in PAGE
    )


@pytest.mark.parametrize("title", TITLES)
def test_rows_are_numbered_and_name_a_way_or_what_is_missing(title):
    rows = rows_of(title)
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
    for number, item, how, state, missing in rows:
        assert item, number
        if state == "full":
            assert (bool(how), missing) == (True, ""), number
        else:
            assert re.match(r"data: |checkpoint: |drawing$", missing), number
            assert state == "impossible" or missing != "drawing", number


def test_every_command_and_preset_on_the_page_exists():
    verbs = get_command(app).commands
    papers = set(verbs["papers"].commands)
    for span in re.findall(r"`([^`]+)`", PAGE):
        first, second = [*span.split(), ""][:2]
        if first.startswith("preset:"):
            get_preset(first.removeprefix("preset:"))
        elif first == "papers":
            assert second in papers, span
        elif re.fullmatch(r"[a-z]+", first):
            assert first in verbs, span
