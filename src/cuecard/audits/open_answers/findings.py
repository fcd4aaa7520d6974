"""What the audits of open answers say, in sentences with numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cuecard.analysis import Evidence, Finding, Severity, Summary, severity_of
from cuecard.audits.open_answers.predictors import Plan
from cuecard.data.answer_texts import NO_ANSWER
from cuecard.stats import state_probability
from cuecard.stats.arrays import Bools, Ints
from cuecard.wording import display_text, listed, percent, plural, points

NAME = "open_answers"
#: The commonest answer is a finding where it surely is right for this share, and more serious from these on.
NOTABLE_PRIOR, MEDIUM_PRIOR, HIGH_PRIOR = 0.04, 0.15, 0.4
#: Shares of test questions with a template of the training set, or of questions without context, worth a finding.
NOTABLE_TEMPLATES, NOTABLE_MISSING, NOTABLE_COMMONEST = 0.02, 0.01, 0.05
#: Answers surely this much more often in their question than those of other questions.
NOTABLE_COPIED = 0.02
#: Columns that a sentence names, and examples that a finding shows.
NAMED, SHOWN = 3, 3

_TITLES = {
    "question_type": "The first words of the question predict the answer",
    "nearest_question": "The answer of the nearest question predicts the answer",
    "question_words": "The words of the question predict the answer",
    "same_template": "Questions of the same template have the same answer",
}
_HOW = {
    "question_type": "Always giving the commonest answer of the type of question (its first one or two words)",
    "nearest_question": "Giving the answer of the training question that shares the largest number of words",
    "question_words": "A linear model of the words and word pairs of the question, over the frequent answers,",
    "same_template": "Giving the commonest answer of the questions that differ in numbers and names only",
}


def open_findings(
    summary: Summary, plan: Plan, found: Mapping[str, tuple[Bools, Ints]], in_question: Bools
) -> list[Finding]:
    """Return what the rules score, and what is repeated, missing or copied."""
    lines = summary["lines"]
    findings = [_prior(line, summary, plan) for line in lines if line["kind"] == "prior" and line["clear"]]
    clear = [line for line in lines if line["clear"]]
    findings += [
        _rule(line, summary, plan, found[line["rule"]])
        for line in clear
        if line["kind"] in ("question", "template")
    ]
    columns = [line for line in clear if line["kind"] == "column"]
    if columns:
        findings.append(_columns(columns, summary))
    findings += _templates(summary)
    findings += _copied(summary, plan, in_question)
    findings += _context(summary)
    return [one for one in findings if one is not None]


def _scored(line: Summary) -> str:
    return (
        f"{percent(line['accuracy'])} exact match (95 % CI {percent(line['low'])} to {percent(line['high'])}; F1 "
        f"{percent(line['f1'])}) on {plural(line['n'], 'question')}"
    )


def _against(line: Summary) -> str:
    p = state_probability("p", line["p_value"])
    return (
        f"{points(line['difference']).removeprefix('+')} points more than the commonest answer alone "
        f"({percent(line['chance'])}; "
        f"95 % CI of the difference {points(line['difference_low'])} to {points(line['difference_high'])}; {p}, "
        "corrected for all rules of this section)"
    )


def _how(summary: Summary) -> str:
    return (
        "Predicted by the other folds."
        if summary["cross_fitted"]
        else "Learned on the training set, scored on the test set."
    )


def _numbers(line: Summary) -> dict[str, Any]:
    return {"value": line["accuracy"], "low": line["low"], "high": line["high"], "n": line["n"]}


def _prior(line: Summary, summary: Summary, plan: Plan) -> Finding | None:
    low, answer = line["low"], summary["commonest"]
    if low < NOTABLE_PRIOR:
        return None
    severity: Severity = "high" if low >= HIGH_PRIOR else "medium" if low >= MEDIUM_PRIOR else "low"
    said = "Never answering" if answer == NO_ANSWER else f"Always answering “{display_text(answer, 40)}”"
    text = (
        f"{said} scores {_scored(line)}, which have {plural(summary['distinct'], 'different answer')}. {_how(summary)} "
        "A model is only better than this by what it scores above it: report the two side by side."
    )
    title = f"{said} scores {percent(line['accuracy'])}"
    rows = plan.scored[np.flatnonzero(plan.data.first_answers.gather(plan.scored) == answer)[:SHOWN]]
    return Finding(
        NAME, severity, title, text, **_numbers(line), chance=line["chance"], key="prior",
        q_value=line["p_value"], evidence=evidence_of(plan, rows),
    )  # fmt: skip


def _rule(line: Summary, summary: Summary, plan: Plan, found: tuple[Bools, Ints]) -> Finding:
    rule, (hits, _) = line["rule"], found
    gain = max(
        0.0, (line["chance"] + line["difference_low"] - line["chance"]) / max(1 - line["chance"], 1e-9)
    )
    coverage = line["n"] / summary["n"]
    text = f"{_HOW[rule]} scores {_scored(line)}, {_against(line)}. "
    if rule == "same_template":
        which = "" if coverage == 1 else f" These are {percent(coverage)} of the questions."
        text += f"{which.strip()} " if which else ""
        text += "The answer can be remembered with the template: a new question needs a new answer."
    else:
        text += f"{_how(summary)} "
        text += (
            "The context is not needed for these."
            if plan.data.contexts is not None
            else "No step of reasoning is needed for these, only questions seen before."
        )
    prior = plan.data.correct(plan.prior())[plan.scored]
    rows = plan.scored[np.flatnonzero(hits & ~prior)[:SHOWN]]
    return Finding(
        NAME, severity_of(coverage * gain), _TITLES[rule], text, **_numbers(line), chance=line["chance"], key=rule,
        coverage=coverage, q_value=line["p_value"], evidence=evidence_of(plan, rows),
    )  # fmt: skip


def _columns(lines: list[Summary], summary: Summary) -> Finding:
    lines = sorted(lines, key=lambda line: -line["difference"])
    best = lines[0]
    gain = max(0.0, best["difference_low"] / max(1 - best["chance"], 1e-9))
    severity = severity_of(gain)
    text = (
        f"Always giving the commonest answer of the same value of the column {best['rule']!r} scores {_scored(best)}, "
        f"{_against(best)}. {_how(summary)} A model that is not given the column cannot use it, unless the question "
        "shows it."
    )
    if more := [f"{line['rule']!r} ({percent(line['accuracy'])})" for line in lines[1 : NAMED + 1]]:
        text += f" Also {listed(more)}."
    title = f"The column {display_text(best['rule'], 40)!r} predicts the answer"
    return Finding(
        NAME, "medium" if severity == "high" else severity, title, text, **_numbers(best), chance=best["chance"],
        key="column", q_value=best["p_value"],
    )  # fmt: skip


def _templates(summary: Summary) -> list[Finding]:
    partners, n = summary["templates"]["partners"], summary["n"]
    if summary["cross_fitted"] or partners < NOTABLE_TEMPLATES * n:
        return []
    line = next((one for one in summary["lines"] if one["rule"] == "same_template"), None)
    same = (
        ""
        if line is None
        else f" {percent(line['accuracy'])} of their answers are the commonest of the template."
    )
    share = partners / n
    return [
        Finding(
            NAME,
            "medium" if share >= 0.2 else "low",
            "Test questions are training questions with other numbers or names",
            f"{partners:,} of {plural(n, 'test question')} ({percent(share)}) are equal to a training question but for "
            f"numbers, names and persons.{same} A score on them says that a model repeats a solution, not that it "
            "finds one.",
            value=share,
            n=partners,
            key="templates",
            role="flaw",
        )
    ]


def _copied(summary: Summary, plan: Plan, in_question: Bools) -> list[Finding]:
    copied = summary["copied"]
    share, p = copied["hits"] / copied["n"], float(np.exp(copied["log_p"]))
    if p > summary["alpha"] or share - copied["chance"] < NOTABLE_COPIED:
        return []
    half = 1.96 * float(np.sqrt(share * (1 - share) / copied["n"]))
    gain = max(0.0, share - half - copied["chance"]) / max(1 - copied["chance"], 1e-9)
    rows = plan.scored[np.flatnonzero(in_question)[:SHOWN]]
    return [
        Finding(
            NAME,
            "low" if severity_of(gain) == "low" else "medium",
            "The answer is among the words of its question",
            f"The right answer is a word, a number or words in a row of its question in {percent(share)} of "
            f"{plural(copied['n'], 'question')}; answers of other questions would be in {percent(copied['chance'])} "
            f"({state_probability('p', p)}). Some may be options that the question names; of the others, a model can "
            "copy the answer.",
            value=share,
            low=max(0.0, share - half),
            high=min(1.0, share + half),
            chance=copied["chance"],
            n=copied["n"],
            key="copied",
            evidence=evidence_of(plan, rows),
        )
    ]


def _context(summary: Summary) -> list[Finding]:
    facts, findings = summary["context"], []
    if facts is None:
        return []
    n = facts["n"]
    if NOTABLE_MISSING * n <= facts["missing"]:
        findings.append(
            Finding(
                NAME,
                "low",
                "Some questions have no context",
                f"{facts['missing']:,} of {plural(n, 'question')} ({percent(facts['missing'] / n)}) have an empty "
                "context, though the others have one: they ask for knowledge, or the context is lost.",
                value=facts["missing"] / n,
                n=facts["missing"],
                key="context-missing",
                role="flaw",
            )
        )
    if facts["commonest"] >= max(NOTABLE_COMMONEST * n, 20):
        findings.append(
            Finding(
                NAME,
                "low",
                "Many questions have the same context",
                f"{facts['commonest']:,} of {plural(n, 'question')} ({percent(facts['commonest'] / n)}) have the "
                f"context “{display_text(facts['text'], 80)}”. If it is an instruction, it is no context: name the "
                "columns with --columns.",
                value=facts["commonest"] / n,
                n=facts["commonest"],
                key="context-constant",
                role="flaw",
            )
        )
    return findings


def evidence_of(plan: Plan, rows: Ints) -> tuple[Evidence, ...]:
    """Return some questions with their answers, without contexts."""
    table, asked = plan.data.instances.table[rows.tolist()], plan.data.questions.gather(rows)
    return tuple(
        Evidence(str(row["example_id"]), str(row["split"]), str(row["label"]), row["hypothesis"], question)
        for row, question in zip(table.iter_rows(named=True), asked, strict=True)
    )
