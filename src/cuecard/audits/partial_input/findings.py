"""The sentences about partial input that are worth reading first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from cuecard.analysis import Evidence, Finding, Severity
from cuecard.audits.partial_input.baselines import Baseline
from cuecard.data import Task
from cuecard.stats import format_p
from cuecard.wording import listed

EXAMPLES_SHOWN = 3

_NOUN = {"pair": "pairs", "choice": "questions", "preference": "preferences", "text": "texts"}
_SUBJECT = {
    ("hypothesis_only", "pair"): "The hypothesis alone",
    ("premise_only", "pair"): "The premise alone",
    ("choices_only", "choice"): "The choices alone, without the question,",
    ("choices_only", "preference"): "The two answers alone, without the prompt,",
}
_RULE = {
    "longest": "Always taking the longest answer",
    "shortest": "Always taking the shortest answer",
    "position": "The position of a choice alone",
    "overlap": "The number of shared words alone",
}


def partial_findings(
    summary: Mapping[str, Any], baselines: Sequence[Baseline], leaking: pl.DataFrame, task: Task
) -> list[Finding]:
    """Return a finding for every partial input that leaks, the best blind rule, and what is at chance."""
    findings = []
    for baseline in baselines:
        if baseline.kind == "partial" and baseline.direction != "at":
            evidence = _evidence(leaking) if baseline.name == summary["primary"] else ()
            findings.append(_leak(baseline, task, evidence))
    blind = [b for b in baselines if b.kind == "content-blind" and b.direction != "at"]
    if blind:
        findings.append(_blind(blind, task))
    quiet = [b for b in baselines if b.kind == "partial" and b.direction == "at"]
    findings += [_at_chance(b, task) for b in quiet]
    findings += [_relation(b, task) for b in baselines if b.kind == "relation" and b.direction == "above"]
    for name, shift in summary["inflation"].items():
        findings.append(_inflation(name, shift))
    return findings


def _leak(baseline: Baseline, task: Task, evidence: tuple[Evidence, ...]) -> Finding:
    subject = _SUBJECT[baseline.name, task]
    plain = subject.split(",")[0]
    text = f"{subject} {_verb(baseline, task)} {_score(baseline, task)}"
    if baseline.direction == "below":
        text += (
            ": below chance. What is right in the examples learned from tends to be wrong in those guessed, "
            "which is a pattern as well: turned round, it gives answers away."
        )
        title = f"{plain} score{_ending(baseline)} below chance"
    else:
        text += _against_full(baseline)
        title = f"{plain} beat{_ending(baseline)} chance"
    return _finding(baseline, severity_of(baseline), title, text, evidence)


def _blind(blind: Sequence[Baseline], task: Task) -> Finding:
    best = max(blind, key=lambda b: abs(b.accuracy - b.chance))
    rest = [f"{_short(b)} {_percent(b.accuracy)}" for b in blind if b is not best]
    text = f"{_rule(best, task)} {_verb(best, task)} {_score(best, task)}"
    text += f"; also {listed(rest)}." if rest else "."
    beats = "beats chance" if best.direction == "above" else "scores below chance"
    return _finding(best, severity_of(best), f"{_rule(best, task)} {beats}", text)


def _at_chance(baseline: Baseline, task: Task) -> Finding:
    subject = _SUBJECT[baseline.name, task]
    text = (
        f"{subject} {_verb(baseline, task)} {_score(baseline, task)}: not different from chance "
        f"(p = {format_p(baseline.log10_p * math.log(10))}; {baseline.q_value:.2g} allowing for all baselines tested)."
    )
    return _finding(baseline, "info", f"{subject.split(',')[0]}: not different from chance", text)


def _relation(baseline: Baseline, task: Task) -> Finding:
    text = (
        f"{_rule(baseline, task)} {_verb(baseline, task)} {_score(baseline, task)}. That reads neither text, but "
        "compares both, so it may follow from the task itself; a model that does no better has not shown more."
    )
    return _finding(baseline, "info", f"{_rule(baseline, task)} beats chance", text)


def _inflation(name: str, shift: Mapping[str, float]) -> Finding:
    grouping = next(key for key in shift if key not in {"example", "difference"})
    text = (
        f"With sentences shared between the examples learned from and those guessed, {name.replace('_', ' ')} "
        f"scores {_percent(shift['example'])}; with examples that share a {grouping} kept together, "
        f"{_percent(shift[grouping])}: a difference of {100 * shift['difference']:+.1f} points."
    )
    return Finding("partial_input", "info", f"Shared sentences and {name.replace('_', ' ')}", text)


def severity_of(baseline: Baseline) -> Severity:
    """Return how much of the way from chance to perfect a score surely goes, in words."""
    if baseline.direction == "below":
        return "medium" if baseline.luck - baseline.high >= 0.05 else "low"
    gain = (baseline.low - baseline.chance) / max(1 - baseline.chance, 1e-9)
    return "high" if gain >= 0.15 else "medium" if gain >= 0.04 else "low"


def _rule(baseline: Baseline, task: Task) -> str:
    if baseline.name != "length":
        return _RULE[baseline.name]
    measured = {"pair": "hypothesis", "text": "text"}.get(task, "answers")
    return f"The length of the {measured} alone"


def _verb(baseline: Baseline, task: Task) -> str:
    """Return the verb in the form its subject needs; only the choices are many."""
    ending = _ending(baseline)
    if task == "preference":
        return f"tell{ending} the preferred answer of"
    return f"answer{ending}" if task == "choice" else f"predict{ending}"


def _ending(baseline: Baseline) -> str:
    return "" if baseline.name == "choices_only" else "s"


def _score(baseline: Baseline, task: Task) -> str:
    what = f"{_percent(baseline.accuracy)} of {baseline.n:,} {_NOUN[task]}"
    if task in ("pair", "text"):
        what = f"the label of {what}"
    chance = (
        f"always naming the commonest label is right for {_percent(baseline.chance)}"
        if task in ("pair", "text")
        else f"chance is {_percent(baseline.chance)}"
    )
    return f"{what} (95 % interval {_percent(baseline.low)} to {_percent(baseline.high)}) where {chance}"


def _against_full(baseline: Baseline) -> str:
    if baseline.percent_r is None:
        return "."
    full = _percent(baseline.accuracy / baseline.percent_r)
    return f"; the same learner with the full input reaches {full}."


def _short(baseline: Baseline) -> str:
    return {"longest": "the longest answer", "shortest": "the shortest answer"}.get(
        baseline.name, f"{baseline.name} alone"
    )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


def _evidence(leaking: pl.DataFrame) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(row["example_id"], row["split"], row["label"], row["hypothesis"], row["premise"])
        for row in leaking.head(EXAMPLES_SHOWN).iter_rows(named=True)
    )


def _finding(
    baseline: Baseline, severity: Severity, title: str, text: str, evidence: tuple[Evidence, ...] = ()
) -> Finding:
    return Finding(
        section="partial_input",
        severity=severity,
        title=title,
        text=text,
        value=baseline.accuracy,
        low=baseline.low,
        high=baseline.high,
        chance=baseline.chance,
        n=baseline.n,
        evidence=evidence,
    )
