"""By what a label can be predicted: two lists, wherever a card is read, with what each carries of the score."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from cuecard import audit, board, load
from cuecard.card.by_what import CARRIES_MOST, GIVES_AWAY, by_what
from cuecard.report.board import board_html, board_markdown, render_board
from cuecard.report.exports import biases
from cuecard.report.first_screen import WHICH, answers
from cuecard.report.markdown import dataset_card_markdown
from cuecard.report.terminal.card import render_brief


@pytest.fixture(scope="module")
def card():
    generator = np.random.default_rng(0)
    words = np.array([f"w{i}" for i in range(80)])
    rows = []
    for i in range(1_400):
        text, label = list(generator.choice(words, 9)), "yes" if generator.random() < 0.5 else "no"
        draw = generator.random()
        if draw < (0.24 if label == "no" else 0.01):
            text[3] = "nobody"
        elif draw < (0.4 if label == "no" else 0.35):
            text[4] = "perhaps"
        rows.append({"premise": f"premise {i}", "hypothesis": " ".join(text), "label": label})
    table = pl.DataFrame(rows)
    return audit(load(table[:900], test=table[900:]), only=["cues", "partial_input"])


def test_both_lists_name_the_planted_word_and_what_they_carry(card):
    carries, gives_away = by_what(card)
    assert (carries.question, gives_away.question) == (CARRIES_MOST, GIVES_AWAY)
    assert carries.features[0].startswith("“nobody” (no) ")
    assert gives_away.features[0].startswith("“nobody” (no) ")
    assert carries.score is not None
    assert carries.score.low < carries.score.value < carries.score.high
    # Both shares are parts of the same score: the word alone carries what it carries in the other list.
    table = card.tables["carried"]
    alone = table.filter(pl.col("feature") == "nobody")["share"].item()
    words = [m.name.rpartition(".")[2] for m in card.all_measures() if m.name.startswith("cues.gives_away.")]
    listed = table.filter((pl.col("family") == "word") & pl.col("feature").is_in(words))["share"].sum()
    assert gives_away.score is not None
    assert gives_away.score.value == pytest.approx(listed)
    assert carries.score.value >= alone


def test_the_same_lists_are_in_terminal_report_exports_and_board(card):
    said = [features.sentence() for features in by_what(card)]
    which = next(answer for answer in answers(card) if answer.question == WHICH)
    assert [features.question for features in by_what(card)] == [CARRIES_MOST, GIVES_AWAY]
    for line, features in zip(which.more, by_what(card), strict=True):
        assert all(feature in line for feature in features.features[:3])
    console = Console(file=io.StringIO(), width=10_000)
    render_brief(card, console)
    printed = console.file.getvalue().replace("\xa0", " ")
    exported = (" ".join(biases(card)) + dataset_card_markdown(card)).replace("\xa0", " ")
    for text in said:
        first = text.replace("\xa0", " ").partition(" and ")[0]
        assert first in printed
        assert exported.count(first.partition("“")[2]) >= 2
    ranked = board([card])
    console = Console(file=io.StringIO(), width=300)
    render_board(ranked, console)
    for text in (console.file.getvalue(), board_markdown(ranked, [""]), board_html(ranked, [""])):
        assert text.count("“nobody” (no)") == 2


def test_the_leading_finding_says_by_what(card):
    [finding] = [f for f in card.findings if f.id == "partial_input/hypothesis_only"]
    assert "What carries it: “nobody” (no) " in finding.text
    assert "of its held-out log score" in finding.text


def test_a_card_without_these_sections_has_no_list():
    table = pl.DataFrame({"text": [f"word{i} x" for i in range(60)], "label": ["a", "b"] * 30})
    assert by_what(audit(load(table), only=["overview"])) == []
