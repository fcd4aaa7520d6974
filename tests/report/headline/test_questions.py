"""The first screen answers what a reader comes to ask, with numbers, or says what to type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cuecard.analysis import Finding, Measure
from cuecard.card.card import Card, Provenance, Section
from cuecard.report.first_screen import DONE, PREDICTED, USED, WHERE, WHICH, Answer, answers, open_questions
from cuecard.report.html.card_page import render_html

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
    assert rows[WHERE].section == "slices"
    whole = replace(part, coverage=1.0)
    rows = {row.question: row for row in answers(_card(make_card, [GUESSED], [whole]))}
    assert not rows[WHERE].known
    slices = Section(title="Slices", status="done")
    rows = {row.question: row for row in answers(make_card(findings=[], sections={"slices": slices}))}
    assert (rows[WHERE].known, rows[WHERE].text) == (True, "No part stands out.")


def test_what_is_not_known_yet_says_what_to_type(make_card: Callable[..., Card]) -> None:
    rows = {row.question: row for row in answers(_card(make_card, [GUESSED], [_cue("nobody")]))}
    assert rows[USED].command.startswith("cuecard probe tiny.parquet")
    assert not rows[USED].known
    assert rows[DONE].command.startswith("cuecard debias tiny.parquet")


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
    assert rows[DONE].text == "No single cue is strong enough to balance."
    assert rows[DONE].command == ""


def test_questions_that_a_card_cannot_answer_are_lines_and_those_of_one_reason_one_line(
    make_card: Callable[..., Card],
) -> None:
    section = Section(title="Test", status="done", about="models")
    card = make_card(findings=[]).model_copy(update={"sections": {"test": section}})
    card.provenance = Provenance(command="cuecard probe a.csv --test b.csv --predictions p.csv")
    rows = answers(card)
    assert [row.known for row in rows] == [False] * 5
    lines = open_questions(rows)
    assert lines[0].question == f"{PREDICTED} {WHICH} {WHERE}"
    assert lines[0].command == "cuecard audit a.csv --test b.csv"
    html = render_html(card)
    assert '<dl class="answers">' not in html
    assert html.count("Not tested here.") == 1


def test_a_card_of_judges_without_a_dataset_has_no_questions_about_data(
    make_card: Callable[..., Card],
) -> None:
    section = Section(title="Judges", status="done", about="models")
    card = make_card(findings=[]).model_copy(update={"sections": {"judge": section}})
    card.provenance = Provenance(command="cuecard probe --judge verdicts.csv")
    assert answers(card) == []


def test_only_what_is_no_benchmark_is_advised_to_be_reweighted(make_card: Callable[..., Card]) -> None:
    card = _card(make_card, [GUESSED], [_cue("nobody")])
    one_split = card.model_copy(
        update={
            "dataset": card.dataset.model_copy(update={"splits": {"train": card.dataset.splits["train"]}})
        }
    )

    def done(card: Card, command: str) -> Answer:
        card.provenance = Provenance(command=command)
        return next(row for row in answers(card) if row.question == DONE)

    assert done(card, "cuecard audit a.csv --test b.csv").command.startswith("cuecard debias a.csv")
    assert done(one_split, "cuecard audit train.csv").command.startswith("cuecard debias train.csv")
    assert done(one_split, "cuecard audit test.csv").command.startswith("cuecard stress test.csv")
    either = done(one_split, "cuecard audit mine.csv")
    assert either.text.startswith("For a training set, balance")
    assert "For a benchmark, report accuracy" in either.text


def test_lists_of_cues_are_lines_of_the_answer_to_which(make_card: Callable[..., Card]) -> None:
    carried = [
        Measure(
            f"partial_input.hypothesis_only.carried{end}",
            share,
            unit="score",
            label=f"score carried by {name}",
            n=9,
        )
        for end, share, name in (("", 0.3, "all"), (".length", 0.2, "the length"), (".x", 0.1, "“x” (no)"))
    ]
    card = _card(make_card, [GUESSED], [_cue("nobody")])
    card.sections["mine"] = Section(title="Mine", status="done", measures=carried)
    rows = {row.question: row for row in answers(card)}
    lines = [line.replace("\N{NO-BREAK SPACE}", " ") for line in rows[WHICH].more]
    assert lines == ["Carry most of the score (together 30.0 %): the length 20.0 % and “x” (no) 10.0 %."]
    assert lines[0] in render_html(card).replace("\N{NO-BREAK SPACE}", " ").replace("&#160;", " ")


def test_a_single_split_is_examples(make_card: Callable[..., Card]) -> None:
    card = make_card()
    assert "3,000 training examples · 300 test examples" in render_html(card)
    train = card.dataset.splits["train"]
    alone = card.model_copy(update={"dataset": card.dataset.model_copy(update={"splits": {"train": train}})})
    assert "· 3,000 examples</p>" in render_html(alone)


def test_examples_have_a_caption_and_their_texts_names(make_card: Callable[..., Card]) -> None:
    card = make_card()
    html = render_html(card)
    assert '<p class="caption">Example</p>' in html
    assert "<small>Premise</small>" in html
    assert "<small>Hypothesis</small>" in html
    card.findings = [replace(card.findings[0], cue="word:nobody")]
    assert '<p class="caption">Example, the cue is marked</p>' in render_html(card)
    alone = make_card(task="text")
    assert "<small>" not in render_html(alone).partition('id="findings"')[2].partition('id="overview"')[0]
