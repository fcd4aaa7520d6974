from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from cuecard import audit, load
from cuecard.audits import AUDITS, Overview
from cuecard.card.card import Card, Section
from cuecard.probes import PROBES
from cuecard.remedies import REMEDIES
from cuecard.report.sections import section_view
from cuecard.view import Outcome, View

CardMaker = Callable[..., Card]


def said(card: Card, name: str) -> str:
    return " ".join(section_view(card, name).lead).replace("\N{NO-BREAK SPACE}", " ")


def test_the_overview_says_sizes_majority_and_overlap(card: Card) -> None:
    words = said(card, "overview")
    assert "3,000 training and 300 test pairs with 3 labels" in words
    assert "is 33.3 % in the training set" in words
    assert (
        "33 of 300 test examples (11.0 %) share a text with the training set: 30 of them the hypothesis"
        in words
    )


@pytest.mark.parametrize(
    ("task", "rows", "sizes", "words"),
    [
        ("choice", 12_000, (4, 4), "3,000 training and 300 test questions with 4 choices each."),
        ("choice", 12_000, (2, 6), "3,000 training and 300 test questions with 4.0 choices on average."),
        ("choice", 12_500, (4, 5), "3,000 training and 300 test questions with 4.2 choices on average."),
        ("preference", 6_000, (2, 2), "3,000 training and 300 test preferences with 2 responses each."),
    ],
)
def test_the_overview_of_competing_answers_says_how_many_there_are(
    make_card: CardMaker, task, rows, sizes, words
) -> None:
    card = make_card(task=task)
    for split in card.sections["overview"].summary["splits"].values():
        split["instances"] = rows * split["examples"] // 3_000
        split["instances_per_example"] = dict(zip(("min", "max"), sizes, strict=True))
    assert said(card, "overview").startswith(f"The dataset has {words}")


@pytest.mark.parametrize(("sizes", "words"), [((2, 4), "3.0 choices on average"), ((3, 3), "3 choices each")])
def test_every_question_has_as_many_choices_only_where_the_fewest_are_the_most(sizes, words) -> None:
    rows = [
        {"question": f"what {i}?", "choices": [f"{i} or {k}" for k in range(sizes[i % 2])], "answer": i % 2}
        for i in range(60)
    ]
    card = audit(load(rows), only=["overview"])
    (split,) = card.sections["overview"].summary["splits"].values()
    assert split["instances_per_example"] == {"min": min(sizes), "max": max(sizes)}
    assert said(card, "overview").startswith(f"The dataset has 60 questions with {words}.")


def test_an_overview_without_test_split_leaves_overlap_out(make_card: CardMaker) -> None:
    card = make_card()
    card.sections["overview"].summary["overlap"] = None
    assert "test examples" not in said(card, "overview")


def test_texts_are_called_what_they_are_in_the_task(make_card: CardMaker) -> None:
    titles = {
        task: [chart.title for chart in section_view(make_card(task=task), "overview").charts]
        for task in ("text", "choice")
    }
    assert titles["text"][:2] == ["Label balance", "Length of the text"]
    assert titles["choice"] == ["Length of the choice"]


def test_no_overlap_is_said_plainly(make_card: CardMaker) -> None:
    card = make_card()
    card.sections["overview"].summary["overlap"]["sentence"] = 0
    assert "None of the 300 test examples shares a text with the training set." in said(card, "overview")


def test_majority_is_not_told_where_each_example_has_one_right_choice(make_card: CardMaker) -> None:
    words = said(make_card(labels=("right", "wrong"), task="choice"), "overview")
    assert "questions" in words
    assert "always answering" not in words


def test_the_cues_say_how_many_and_which_is_strongest(card: Card) -> None:
    words = said(card, "cues")
    assert "4 of 7 features" in words
    assert "Strongest: “nobody” (95.0 % of the 90 training instances" in words


def test_one_cue_is_said_in_the_singular_and_a_number_only_once(make_card: CardMaker) -> None:
    card = make_card()
    card.sections["cues"].summary.update(significant=1, cues=1)
    assert (
        "1 of 7 features (14.3 %) is significantly associated with a label (false discovery rate 5 %). "
        in said(card, "cues")
    )
    card.sections["cues"].summary.update(significant=2, cues=1)
    assert "; 1 of them is frequent enough to be listed as cues." in said(card, "cues")


def test_no_significant_cue_is_said_plainly(make_card: CardMaker) -> None:
    card = make_card()
    card.sections["cues"].summary.update(significant=0, cues=0)
    nothing = pl.col("significant") & False
    card.attach(dict(card.tables) | {"cues": card.tables["cues"].with_columns(significant=nothing)})
    view = section_view(card, "cues")
    assert said(card, "cues").startswith("None of 7 features is significantly associated with a label")
    assert [chart.title for chart in view.charts] == ["Map of cues"]


def test_the_table_of_cues_shows_at_most_500_rows_and_says_where_all_are(make_card: CardMaker) -> None:
    (table,) = section_view(make_card([f"w{i}" for i in range(900)]), "cues").tables
    assert (len(table.rows), table.total, table.source) == (500, 900, "tables/cues.parquet")


def test_families_that_were_skipped_are_named_with_the_reason(card: Card) -> None:
    assert section_view(card, "cues").notes == ["Not tested: tense (no parser is installed)."]


def test_an_unknown_section_shows_its_numbers_and_table(make_card: CardMaker) -> None:
    section = Section(
        title="New", status="done", summary={"accuracy": 0.5, "deep": {"p_value": 1e-9}}, tables=["new"]
    )
    card = make_card(sections={"new": section})
    card.attach(dict(card.tables) | {"new": pl.DataFrame({"slice": ["a"], "share": [0.25], "n": [1200]})})
    view = section_view(card, "new")
    assert [(f.label, f.value) for f in view.figures] == [
        ("accuracy", "50.0\N{NO-BREAK SPACE}%"),
        ("deep · p value", "1.0×10⁻⁹"),
    ]
    (table,) = view.tables
    written = [column.write(value) for column, value in zip(table.columns, table.rows[0], strict=True)]
    assert written == ["a", "25.0\N{NO-BREAK SPACE}%", "1,200"]


def test_a_section_that_did_not_run_has_nothing_to_show(card: Card) -> None:
    assert section_view(card, "partial_input").figures == ()


def test_every_check_of_ours_declares_a_view() -> None:
    for registry in (AUDITS, PROBES, REMEDIES):
        for name in registry.names():
            assert hasattr(registry.get(name), "view"), name


def test_a_view_of_another_package_that_fails_is_replaced_by_the_general_one(
    card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(outcome: Outcome) -> View:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(Overview, "view", staticmethod(broken))
    monkeypatch.setattr(Overview, "__module__", "another_package")
    view = section_view(card, "overview")
    assert view.tables or view.figures
    assert (
        view.notes[-1] == "The view of this section failed (ZeroDivisionError: no); this is the general one."
    )


def test_a_view_of_ours_that_fails_is_a_bug(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(outcome: Outcome) -> View:
        raise ZeroDivisionError("no")

    monkeypatch.setattr(Overview, "view", staticmethod(broken))
    with pytest.raises(ZeroDivisionError):
        section_view(card, "overview")
