from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable

import pytest
from rich.console import Console

from cuecard.analysis import Finding, Severity
from cuecard.card.card import Card
from cuecard.report.terminal.card import render_terminal

CardMaker = Callable[..., Card]


def remark(text: str, severity: Severity = "low") -> Finding:
    return Finding(section="cues", severity=severity, title="A title", text=text)


def printed(card: Card, *, width: int = 120, colour: bool = False, top: int = 10) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    render_terminal(card, console, top=top)
    return out.getvalue()


def test_headline_findings_and_sections_are_printed_in_this_order(card: Card) -> None:
    text = printed(card)
    order = [
        text.index(words)
        for words in ("strong cues", "▲ high", "Overview ─", "Cues ─", "Data fingerprint b2:0123abcd")
    ]
    assert order == sorted(order)
    assert "skipped: there is no test split" in text
    assert "failed: ValueError: no pairs" in text


def test_only_the_first_rows_are_printed_and_the_rest_is_counted(make_card: CardMaker) -> None:
    text = printed(make_card([f"word{i}" for i in range(60)]), top=3)
    assert "word2" in text
    assert "word3" not in text
    assert "3 of 60 rows; all in tables/cues.parquet" in text


def test_dataset_texts_reach_the_terminal_without_control_or_markup(hostile_card: Card) -> None:
    text = printed(hostile_card)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[31m red" in text


def test_numbers_are_never_cut_on_a_narrow_terminal(card: Card) -> None:
    text = printed(card, width=60).replace("\N{NO-BREAK SPACE}", " ")
    rows = [line for line in text.splitlines() if line.strip().startswith("nobody ")]
    assert not [row for row in rows if "…" in row]
    assert "95.0 %" in rows[-1]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_terminal(card: Card, width: int) -> None:
    assert max(len(line) for line in printed(card, width=width).splitlines()) <= width


@pytest.mark.parametrize("width", range(40, 60))
def test_a_number_and_its_percent_sign_stay_on_one_line(make_card: CardMaker, width: int) -> None:
    text = "It holds for 12.5 % of all, and for 37.5 % of those that have it, where 33.3 % would be expected."
    lines = [line.strip() for line in printed(make_card(findings=[remark(text)]), width=width).splitlines()]
    assert any("12.5 %" in line for line in lines)
    assert not [line for line in lines if line.startswith("%")]


def test_what_is_left_for_the_report_is_counted_as_above_and_remarks_apart(make_card: CardMaker) -> None:
    severities: tuple[Severity, ...] = ("low", "low", "info", "info")
    text = printed(make_card(findings=[remark("It is so.", severity) for severity in severities]), top=1)
    assert "2 findings: 2 low." in text
    assert "… and 1 more finding and 2 remarks in the report." in text


def test_the_terminal_view_loads_no_chart_library() -> None:
    code = "import sys, cuecard.report.terminal.card; print({'altair', 'vl_convert', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_dataset_that_was_read_in_parts_says_which_sections_rest_on_a_sample(card: Card) -> None:
    assert "Read in" not in printed(card)
    card.provenance.engine = "local, in 6 chunks"
    card.dataset.dropped.clear()
    assert "Read in 6 chunks; all sections are about all examples." in printed(card)
    card.dataset.dropped["damaged file 3.parquet"] = 1
    assert "Left out: all rows of the damaged file 3.parquet." in printed(card)
    assert "Read in 6 chunks; all sections are about all other examples." in printed(card)
    card.provenance.engine = "ray, in 6 chunks"
    card.sections["cues"].sampled = {"train": 50}
    assert "Read in 6 chunks on a Ray cluster." in printed(card)  # a note says what rests on a sample
