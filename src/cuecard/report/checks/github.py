"""A check as annotations of a GitHub workflow, at the lines of the policy."""

from __future__ import annotations

from cuecard.card.judging import Check, Ruling
from cuecard.report.checks.sentences import headline, sentence

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def github_annotations(check: Check) -> str:
    """Return the lines that GitHub shows as annotations: what fails; what is undecided and accepted is a notice."""
    annotations = [_annotation(check, ruling) for ruling in check.rulings if ruling.verdict != "pass"]
    return "\n".join([headline(check), *annotations]) + "\n"


def _annotation(check: Check, ruling: Ruling) -> str:
    command = _COMMANDS[ruling.rule.severity] if ruling.counts_as_failed else "notice"
    title = f"CueCard {ruling.verdict}: {ruling.measure.name}"
    properties = {
        "file": check.policy.source,
        "line": str(max(ruling.rule.line, 1)),
        "title": title,
    }
    said = "\n".join([sentence(ruling), *ruling.findings])
    written = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
    return f"::{command} {written}::{_escaped(said)}"


def _escaped(text: str, more: str = "") -> str:
    """Return a text in which nothing ends the line, the message or a property."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
