"""The first screen answers what a reader comes to ask, with numbers, or says what to type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cuecard.analysis import Finding, Measure
from cuecard.card.card import Card, Section
from cuecard.report.html.card_page import render_html
from cuecard.report.questions import answers

GUESSED = Measure(
    "blind.hypothesis_only.accuracy",
    0.646,
    0.636,
    0.655,
    0.343,
    9824,
    "share",
    "higher",
    "hypothesis-only accuracy",
)


def _card(make_card: Callable[..., Card], measures: list[Measure], findings: list[Finding]) -> Card:
    section = Section(title="Blind", status="done", measures=measures)
    return make_card(findings=findings, sections={"blind": section})


def _cue(name: str, severity: str = "high") -> Finding:
    return Finding(
        section="cues", severity=severity, title=f"Cue for neutral: “{name}”", text="", value=0.9, low=0.8, high=0.95,
        chance=0.33, cue=name, coverage=0.1,
    )  # fmt: skip


def test_the_largest_leak_and_its_cue_lead_with_interval_and_chance(make_card: Callable[..., Card]) -> None:
    rows = answers(_card(make_card, [GUESSED], [_cue("nobody"), _cue("word:tall")]))
    guessed, by_what, *_ = rows
    assert (guessed.value.replace("\N{NO-BREAK SPACE}", " "), guessed.severity) == ("64.6 %", "high")
    assert "63.6" in guessed.interval
    assert guessed.section == "blind"
    assert guessed.meter is not None
    assert "nobody" in by_what.text
    assert "“tall”" in by_what.text


def test_a_part_of_the_data_answers_where(make_card: Callable[..., Card]) -> None:
    part = Finding(
        section="slices",
        severity="medium",
        title="Longest is right in one source",
        text="",
        value=0.9,
        chance=0.5,
        coverage=0.2,
    )
    rows = {row.question: row for row in answers(_card(make_card, [GUESSED], [part]))}
    assert rows["Where?"].section == "slices"
    whole = replace(part, coverage=1.0)
    assert "Where?" not in {row.question for row in answers(_card(make_card, [GUESSED], [whole]))}


def test_what_is_not_known_yet_says_what_to_type(make_card: Callable[..., Card]) -> None:
    rows = {row.question: row for row in answers(_card(make_card, [GUESSED], [_cue("nobody")]))}
    assert rows["Does a model use it?"].command.startswith("cuecard probe tiny.parquet")
    assert rows["What can be done?"].command.startswith("cuecard debias tiny.parquet")


def test_nothing_found_is_not_called_clean(make_card: Callable[..., Card]) -> None:
    at_chance = Measure("blind.hypothesis_only.accuracy", 0.34, 0.32, 0.36, 0.34, 100, "share", "higher", "x")
    guessed, by_what, *rest = answers(_card(make_card, [at_chance], []))
    assert guessed.severity == "info"
    assert "stronger" in guessed.text
    assert by_what.value == ""
    assert rest[-1].text == "There is nothing to balance."


def test_sections_are_folded_and_the_navigation_shows_their_severity(make_card: Callable[..., Card]) -> None:
    html = render_html(_card(make_card, [GUESSED], [replace(_cue("nobody"), section="blind")]))
    assert '<a href="#blind" class="mark-high">' in html
    assert (
        html.count('<details class="fold"') == len(_card(make_card, [GUESSED], []).sections) + 1
    )  # and the methods
    assert html.index('class="answers"') < html.index('id="findings"')


def test_a_leak_that_only_the_auc_shows_is_the_answer_and_the_full_input_never_is(
    make_card: Callable[..., Card],
) -> None:
    at_chance = Measure("blind.hypothesis_only.accuracy", 0.57, 0.55, 0.59, 0.57, 100, "share", "higher", "x")
    full = Measure("blind.full.accuracy", 0.79, 0.77, 0.80, 0.57, 100, "share", "neither", "full accuracy")
    ranked = Finding(
        section="blind", severity="medium", title="Hypothesis-only AUC is above chance", text="", value=0.629,
        low=0.614, high=0.644, chance=0.5, unit="score",
    )  # fmt: skip
    guessed = answers(_card(make_card, [at_chance, full], [ranked]))[0]
    assert (guessed.value, guessed.severity) == ("0.629", "medium")
    assert (
        guessed.text
        == "Yes, although no accuracy shows it: Hypothesis-only AUC is above chance (chance 0.5)."
    )
    quiet = answers(_card(make_card, [at_chance, full], []))[0]
    assert quiet.value.replace("\N{NO-BREAK SPACE}", " ") == "57.0 %"


def test_a_section_that_did_not_run_is_folded_behind_its_reason(make_card: Callable[..., Card]) -> None:
    skipped = Section(title="Slices", status="skipped", reason="needs an extra column with 2 to 60 values")
    html = render_html(make_card(sections={"slices": skipped}))
    assert '<span class="fold-lead">Skipped: needs an extra column with 2 to 60 values.</span>' in html


def test_a_rule_that_gives_more_away_than_any_word_answers_by_what(make_card: Callable[..., Card]) -> None:
    part_of_the_text = Finding(
        section="blind", id="blind/hypothesis_only", severity="high", title="Hypothesis-only accuracy is above chance",
        text="", value=0.646, low=0.636, high=0.655, chance=0.343,
    )  # fmt: skip
    length = replace(
        part_of_the_text,
        id="blind/length",
        severity="medium",
        title="A model that sees only the length beats chance",
    )
    rows = answers(
        _card(make_card, [GUESSED], [part_of_the_text, length, _cue("to", "low"), _cue("for", "low")])
    )
    by_what = rows[1].text.replace("\N{NO-BREAK SPACE}", " ")
    assert by_what == "A model that sees only the length beats chance (chance 34.3 %). Next: “to” and “for”."


def test_an_answer_about_some_examples_says_chance_and_how_many(make_card: Callable[..., Card]) -> None:
    by_what = answers(_card(make_card, [GUESSED], [_cue("nobody")]))[1].text.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert by_what == "Cue for neutral: “nobody” (chance 33.0 %; 10.0 % of the data)."


def test_what_names_no_cue_is_not_answered_with_balancing_it(make_card: Callable[..., Card]) -> None:
    many = Finding(
        section="cues", severity="low", title="Surface features predict the label", text="", value=0.1
    )
    rows = {row.question: row for row in answers(_card(make_card, [], [many]))}
    assert rows["What can be done?"].text == "No single cue is strong enough to balance."
    assert rows["What can be done?"].command == ""
