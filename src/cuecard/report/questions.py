"""The first screen of a report: the questions a reader comes with, each answered in a row."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from cuecard import wording
from cuecard.analysis import Finding, Measure, Severity, severity_of
from cuecard.card.by_what import CARRIES_MOST, GIVES_AWAY, by_what
from cuecard.card.card import Card, largest_shortcut, measures_about, shortcuts, states
from cuecard.features.cue_names import spoken_cue
from cuecard.report.findings import Meter, meter, ordered_findings
from cuecard.report.verdict import model_headline
from cuecard.run.next_commands import is_for_evaluation, next_commands, on_same_data, on_same_rows
from cuecard.wording import display_text, listed

#: Severities that a row names as an answer; remarks are not.
_TELLING = ("high", "medium", "low")


@dataclass(frozen=True)
class Answer:
    """A question with its answer: a sentence, the number behind it, and the section that says more.

    `command` is what to type where the card cannot answer yet.
    """

    question: str
    text: str
    severity: Severity = "info"
    section: str = ""
    value: str = ""
    interval: str = ""
    meter: Meter | None = None
    command: str = ""


def answers(card: Card) -> list[Answer]:
    """Return the questions a reader comes with, answered; none for a card that is about weights or experiments."""
    first = next(iter(card.sections.values()), None)
    if first is None or first.about not in ("data", "models"):
        return []
    findings = [f for f in ordered_findings(card) if f.severity in _TELLING]
    about_models = {name for name, section in card.sections.items() if section.about == "models"}
    of_data = [f for f in findings if f.section not in about_models and f.role == "cue"]
    return [
        _guessed(card, of_data),
        _by_what(card, of_data),
        *_lists(card),
        *_where(of_data),
        _by_models(card, [f for f in findings if f.section in about_models]),
        _what_helps(card, of_data),
    ]


def _guessed(card: Card, findings: list[Finding]) -> Answer:
    question = "Can the label be predicted from part of the input?"
    largest, accurate = largest_shortcut(card), shortcuts(card)
    if largest is not None and largest in accurate:
        stating = next((f.severity for f in findings if states(f, largest)), None)
        return _of_measure(question, largest, stating or severity_of(largest.gain))
    ranked = next((f for f in findings if f.unit == "score" and f.chance is not None and not f.cue), None)
    if ranked is not None and accurate:  # an accuracy is above chance, but an AUC gives more away
        answer = _of_finding(question, ranked)
        return replace(answer, text=f"Yes: {answer.text}")
    if ranked is not None:  # no accuracy is above chance, but an AUC is
        answer = _of_finding(question, ranked)
        return replace(answer, text=f"Yes, although no accuracy shows it: {answer.text}")
    tried = [
        m
        for m in measures_about(card, ["data"])
        if m.unit == "share" and m.chance is not None and m.worse == "higher"
    ]
    if not tried:
        return Answer(question, "Not tested.", command=_with_section(card, "partial_input"))
    closest = max(tried, key=lambda m: (m.value or 0.0) - (m.chance or 0.0))
    answer = _of_measure(question, closest, "info")
    return Answer(
        question,
        "No model of part of the input beats chance beyond noise. A stronger one might.",
        section=answer.section,
        value=answer.value,
        interval=answer.interval,
        meter=answer.meter,
    )


def _of_measure(question: str, measure: Measure, severity: Severity) -> Answer:
    """Return a measure as an answer, with its interval and chance level."""
    as_finding = Finding(
        section=measure.section,
        severity=severity,
        title="",
        text="",
        value=measure.value,
        low=measure.low,
        high=measure.high,
        chance=measure.chance,
        unit=measure.unit,
    )
    label = display_text(measure.label or measure.name, 80)
    chance = wording.in_unit(measure.chance, measure.unit)
    return Answer(
        question,
        f"Yes: {label}, where chance is {chance}." if severity != "info" else f"{label}, chance {chance}.",
        severity,
        measure.section,
        wording.in_unit(measure.value, measure.unit),
        _interval(as_finding),
        meter(as_finding),
    )


def _by_what(card: Card, findings: list[Finding]) -> Answer:
    question = "Which cues?"
    # An accuracy of part of the text says that something in it predicts the label, a rule such as the length says what.
    rules = [f for f in findings if f.whole and f.section != "columns" and not f.id.endswith("_only")]
    named = [f for f in findings if f.cue or f in rules]
    leading = next(iter(named), None)
    if leading is None:
        searched = any(m.unit == "count" and m.key and m.n for m in measures_about(card, ["data"]))
        return Answer(
            question, "No cue is strong enough to name." if searched else "No cue was searched for."
        )
    answer = _of_finding(question, leading)
    if any(features.question == GIVES_AWAY for features in by_what(card)):
        return answer
    others = listed([display_text(_spoken(f.cue), 60) for f in [f for f in named[1:] if f.cue][:2]])
    return replace(answer, text=f"{answer.text} Next: {others}.") if others else answer


def _lists(card: Card) -> list[Answer]:
    """Return the features that carry the score of partial input, and those that give most away."""
    return [
        Answer(
            features.question,
            f"{features.named()}.",
            section="partial_input" if features.question == CARRIES_MOST else "cues",
            value="" if features.score is None else wording.percent(features.score.value),
            interval="" if features.score is None else "of the held-out log score",
        )
        for features in by_what(card)
    ]


def _spoken(cue: str) -> str:
    """Return what a finding's cue is called: a word, or `family:feature`."""
    family, colon, feature = cue.partition(":")
    return spoken_cue(family, feature) if colon and feature else spoken_cue("word", cue)


def _where(findings: list[Finding]) -> list[Answer]:
    """Return which part of the data is worst, where a finding is about a part of it and not about a cue."""
    part = next((f for f in findings if not f.cue and f.coverage < 1.0 and f.chance is not None), None)
    return [] if part is None else [_of_finding("Where?", part)]


def _by_models(card: Card, findings: list[Finding]) -> Answer:
    question = "Does a model use it?"
    if said := model_headline(card):
        severity = findings[0].severity if findings else "info"
        section = findings[0].section if findings else _first_about(card, "models")
        return Answer(question, said, severity, section)
    command = next((command for command, _ in next_commands(card) if " probe " in command), "")
    return Answer(question, "No model was probed.", command=command)


def _what_helps(card: Card, findings: list[Finding]) -> Answer:
    question = "What can be done?"
    size = next(
        (m for m in measures_about(card, ["weights"]) if m.name.endswith(".effective_sample_size")), None
    )
    if size is not None:
        return Answer(
            question,
            "Weights balance the cues; this is the effective sample size that remains.",
            section=size.section,
            value=wording.in_unit(size.value, size.unit),
        )
    if not findings:
        return Answer(question, "There is nothing to balance.")
    if not any(f.cue or f.chance is not None for f in findings):
        return Answer(question, "No single cue is strong enough to balance.")
    made = card.provenance.command
    if is_for_evaluation(made):
        command = on_same_rows(made, "stress", "--out", "stress")
        return Answer(
            question, "Report accuracy on the examples that no partial input gives away.", command=command
        )
    command = on_same_rows(made, "debias", "--out", "weighted.parquet")
    benchmark = (
        "" if "test" in card.dataset.splits else "; of a benchmark, write the hard examples (cuecard stress)"
    )
    return Answer(question, f"Balance the cues with weights before training{benchmark}.", command=command)


def _of_finding(question: str, finding: Finding) -> Answer:
    value = "" if finding.value is None else wording.in_unit(finding.value, finding.unit)
    return Answer(
        question,
        f"{display_text(finding.title, 160).rstrip('.')}{_against(finding)}.",
        finding.severity,
        finding.section,
        value,
        _interval(finding),
        meter(finding),
    )


def _against(finding: Finding) -> str:
    """Return what the number of a finding is compared with, and how much of the data it is about."""
    said = [] if finding.chance is None else [f"chance {wording.in_unit(finding.chance, finding.unit)}"]
    if 0 < finding.coverage < 1:
        said.append(f"{wording.percent(finding.coverage)} of the data")
    return f" ({'; '.join(said)})" if said else ""


def _interval(finding: Finding) -> str:
    interval = wording.interval_in_unit(finding.low, finding.high, finding.unit)
    return f"95 % CI {interval}" if interval else ""


def _first_about(card: Card, about: str) -> str:
    return next((name for name, section in card.sections.items() if section.about == about), "")


def _with_section(card: Card, section: str) -> str:
    words = shlex.split(card.provenance.command)
    if words[:2] != ["cuecard", "audit"] or section in card.sections:
        return ""
    return on_same_data(card.provenance.command, "audit", "--only", section)
