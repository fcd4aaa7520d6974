"""A check as Markdown: the summary of a workflow step, or a comment on a change."""

from __future__ import annotations

from cuecard.card.judging import Check
from cuecard.report.checks.sentences import headline, limits, measured, settling, severity
from cuecard.report.markdown import code, escape, markdown_table

_SIGNS = {"fail": "❌ fail", "undecided": "❔ undecided", "pass": "✅ pass"}


def check_markdown(check: Check) -> str:
    """Return a check as a heading, the verdict and a table of rules."""
    rows = [
        (
            _SIGNS[ruling.verdict] + severity(ruling),
            code(ruling.measure.name),
            measured(ruling),
            limits(ruling),
            escape(
                " ".join(
                    part
                    for part in (
                        settling(ruling),
                        ruling.note,
                        ruling.rule.reason if ruling.verdict != "pass" else "",
                    )
                    if part
                )
            ),
        )
        for verdict in _SIGNS
        for ruling in check.rulings
        if ruling.verdict == verdict
    ]
    parts = [
        "## CueCard check",
        escape(headline(check)),
        markdown_table(("Verdict", "Measure", "Value", "Limit", "Note"), rows),
        *(escape(note, limit=1000) for note in check.notes),
        f"Data fingerprint {code(check.card.dataset.fingerprint)}.",
    ]
    return "\n\n".join(parts) + "\n"
