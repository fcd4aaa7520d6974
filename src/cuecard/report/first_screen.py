"""The first screen of a report: the questions a reader comes with, each answered in a row, and one picture."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from cuecard import wording
from cuecard.analysis import SEVERITIES, Finding, Measure, Severity, severity_of
from cuecard.card.by_what import GIVES_AWAY, FeatureList, by_what
from cuecard.card.card import Card, largest_shortcut, measures_about, shortcuts, slices, states
from cuecard.features.family import spoken_cue
from cuecard.report.findings import Meter, meter, ordered_findings, worst_severity
from cuecard.report.sections import SectionView, TableView
from cuecard.report.verdict import main_subject, model_headline
from cuecard.run.next_commands import (
    is_for_evaluation,
    is_for_training,
    next_commands,
    on_same_data,
    on_same_rows,
)
from cuecard.view import Chart
from cuecard.wording import display_text, listed

#: Severities that a row names as an answer; remarks are not.
_TELLING = ("high", "medium", "low")
_UNKNOWN = "Not tested here."


PREDICTED = "Can the label be predicted from part of the input?"
GIVEN = "Can answers be given without answering?"
WHICH, WHERE = "Which cues?", "In which part of the data?"
USED, DONE = "Does a model use them?", "What can be done?"
#: Sections that look at parts of the data.
_OF_PARTS = ("slices", "clusters")
#: Features of a list that the first screen names.
_NAMED = 3


@dataclass(frozen=True)
class Answer:
    """A question with its answer: a sentence, the number behind it, and the section that says more.

    `more` are further lines. `page` is the report of another card that has the section. Where the card does not
    know the answer, `text` says why, and `command` what to type.
    """

    question: str
    text: str
    severity: Severity = "info"
    section: str = ""
    value: str = ""
    interval: str = ""
    meter: Meter | None = None
    command: str = ""
    more: tuple[str, ...] = ()
    page: str = ""
    known: bool = True


def answers(card: Card, audit: Card | None = None, page: str = "") -> list[Answer]:
    """Return the questions a reader comes with, answered; none for a card that is about weights or experiments.

    Args:
        card: the card.
        audit: an audit of the same data, which answers what is about the data on a card about models.
        page: where its report is.
    """
    first = next(iter(card.sections.values()), None)
    if first is None or first.about not in ("data", "models"):
        return []
    data = card if audit is None else audit
    about_models = {name for name, section in card.sections.items() if section.about == "models"}
    of_models = [f for f in _telling(card) if f.section in about_models]
    of_data = [f for f in _telling(data) if f.section not in about_models and f.role == "cue"]
    of_the_data = [_guessed(data, of_data), _which(data, of_data), _where(data, of_data)]
    if audit is not None:
        of_the_data = [replace(answer, page=page) if answer.section else answer for answer in of_the_data]
    elif first.about == "models" and not any(answer.known for answer in of_the_data):
        if not on_same_rows(card.provenance.command, "audit"):
            return []  # verdicts of judges without a dataset: the headline and the tests say it all
        command = on_same_data(card.provenance.command, "audit")
        of_the_data = [replace(answer, command=command) for answer in of_the_data]
    return [*of_the_data, _by_models(card, of_models), _what_helps(card, of_data)]


def open_questions(rows: Iterable[Answer]) -> list[Answer]:
    """Return the questions that a card cannot answer; those with the same reason and command as one."""
    grouped: dict[tuple[str, str], Answer] = {}
    for row in rows:
        if not row.known:
            key = row.text, row.command
            earlier = grouped.get(key)
            grouped[key] = replace(row, question=f"{earlier.question} {row.question}") if earlier else row
    return list(grouped.values())


def _telling(card: Card) -> list[Finding]:
    return [finding for finding in ordered_findings(card) if finding.severity in _TELLING]


def _guessed(card: Card, findings: list[Finding]) -> Answer:
    of_labels = card.dataset.task != "open"
    question = PREDICTED if of_labels else GIVEN
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
        missing = "partial_input" if of_labels else "open_answers"
        return Answer(question, _UNKNOWN, command=_with_section(card, missing), known=False)
    closest = max(tried, key=lambda m: (m.value or 0.0) - (m.chance or 0.0))
    answer = _of_measure(question, closest, "info")
    return Answer(
        question,
        "No model of part of the input beats chance beyond noise. A stronger one might."
        if of_labels
        else "No blind rule beats the commonest answer beyond noise. A stronger one might.",
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


def _which(card: Card, findings: list[Finding]) -> Answer:
    # An accuracy of part of the text says that something in it predicts the label, a rule such as the length says what.
    rules = [f for f in findings if f.whole and f.section != "columns" and not f.id.endswith("_only")]
    named = [f for f in findings if f.cue or f in rules]
    leading = next(iter(named), None)
    lists = tuple(_line(features) for features in by_what(card))
    if leading is None:
        if lists:
            return Answer(WHICH, "No single cue is strong.", section="cues", more=lists)
        if any(m.unit == "count" and m.key and m.n for m in measures_about(card, ["data"])):
            return Answer(WHICH, "No cue is strong enough to name.")
        return Answer(WHICH, _UNKNOWN, known=False)
    answer = _of_finding(WHICH, leading)
    if lists:
        return replace(answer, more=lists)
    others = listed([display_text(_spoken(f.cue), 60) for f in [f for f in named[1:] if f.cue][:2]])
    return replace(answer, text=f"{answer.text} Next: {others}.") if others else answer


def _line(features: FeatureList) -> str:
    """Return the first features of a list in a line."""
    if features.question == GIVES_AWAY:
        return f"Give away most where they occur: {listed(list(features.features[:_NAMED]))}."
    # Of more than the whole score, other features cost the model some.
    part = None if features.score is None else features.score.value
    whole = f" (together {wording.percent(part)})" if part is not None and part <= 1 else ""
    return f"Carry most of the score{whole}: {listed(list(features.features[:_NAMED]))}."


def _spoken(cue: str) -> str:
    """Return what a finding's cue is called: a word, or `family:feature`."""
    family, colon, feature = cue.partition(":")
    return spoken_cue(family, feature) if colon and feature else spoken_cue("word", cue)


def _where(card: Card, findings: list[Finding]) -> Answer:
    """Return which part of the data is worst, where a finding is about a part of it and not about a cue."""
    part = next((f for f in findings if not f.cue and f.coverage < 1.0 and f.chance is not None), None)
    if part is not None:
        return _of_finding(WHERE, part)
    looked = next((n for n in _OF_PARTS if n in card.sections and card[n].status == "done"), "")
    if looked:
        return Answer(WHERE, "No part stands out.", section=looked)
    return Answer(WHERE, _UNKNOWN, known=False)


def _by_models(card: Card, findings: list[Finding]) -> Answer:
    if said := model_headline(card):
        severity = findings[0].severity if findings else "info"
        section = findings[0].section if findings else _first_about(card, "models")
        relied = [m.value or 0.0 for m in slices(card, "reliance.relies").values()]
        cues = card.measure("reliance.cues").value if relied else None
        value = f"{wording.count(max(relied))} of {wording.count(cues)}" if cues else ""
        return Answer(USED, said, severity, section, value, "cues relied on" if value else "")
    command = next((command for command, _ in next_commands(card) if " probe " in command), "")
    return Answer(USED, "No model was probed.", command=command, known=False)


def _what_helps(card: Card, findings: list[Finding]) -> Answer:
    question = DONE
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
    if card.dataset.task == "open":
        beside = "Report exact match beside that of the blind rules, and on the questions that none of them answers"
        return Answer(question, f"{beside}." if findings else "There is nothing to correct.")
    if not findings:
        return Answer(question, "There is nothing to balance.", known=False)
    if not any(f.cue or f.chance is not None for f in findings):
        return Answer(question, "No single cue is strong enough to balance.", known=False)
    made = card.provenance.command
    debias = on_same_rows(made, "debias", "--out", "weighted.parquet")
    stress = on_same_rows(made, "stress", "--out", "stress")
    if is_for_evaluation(made):
        return Answer(
            question, "Report accuracy on the examples that no partial input gives away.", command=stress
        )
    if len(card.dataset.splits) > 1 or is_for_training(made):
        return Answer(question, "Balance the cues with weights before training.", command=debias)
    return Answer(
        question,
        "For a training set, balance the cues with weights (cuecard debias). For a benchmark, report accuracy on the "
        "examples that no partial input gives away.",
        command=stress,
    )


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


#: Charts and tables on a first screen.
MOST_SHOWN = 2


@dataclass(frozen=True)
class FrontItem:
    """A chart or a table of a section, and what it is called on the page: the first chart of cues is cues-0."""

    section: str
    place: str
    shown: Chart | TableView

    @property
    def is_chart(self) -> bool:
        """Whether it is a chart."""
        return isinstance(self.shown, Chart)


def front_items(card: Card, views: Mapping[str, SectionView]) -> list[FrontItem]:
    """Return what a report opens with: what sections about its main subject declare, tables first.

    Where none declares anything, it is the first chart of the section with the most serious finding that has one.
    """
    subject = main_subject(card)
    about = {name: view for name, view in views.items() if card.sections[name].about == subject}
    declared = [item for name, view in about.items() for item in _declared(name, view)]
    if declared:
        return sorted(declared[:MOST_SHOWN], key=lambda item: item.is_chart)
    ranks = [*SEVERITIES, "none"]
    by_severity = sorted(about, key=lambda name: ranks.index(worst_severity(card, name)))
    charts = (
        FrontItem(name, f"{name}-0", about[name].charts[0]) for name in by_severity if about[name].charts
    )
    return [item for item in [next(charts, None)] if item is not None]


def _declared(name: str, view: SectionView) -> list[FrontItem]:
    tables = [FrontItem(name, f"{name}-front", table) for table in view.tables if table.title in view.front]
    charts = [
        FrontItem(name, f"{name}-{i}", chart)
        for i, chart in enumerate(view.charts)
        if chart.name in view.front
    ]
    return [*tables, *charts]
