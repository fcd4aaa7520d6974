"""Markdown to paste: a finding for an issue, a paragraph for a dataset card."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from cuecard import wording
from cuecard.analysis import Evidence, Finding
from cuecard.card.by_what import by_what
from cuecard.card.card import Card
from cuecard.card.files import of_readable_card
from cuecard.report.findings import (
    facts,
    highlight,
    isolated,
    looked_at,
    measured,
    ordered_findings,
    other_ways,
)
from cuecard.report.verdict import verdict
from cuecard.wording import display_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~$])")
#: A mention or a reference in a dataset text must not notify or link anyone.
_REFERENCE = re.compile(r"([@#])(?=\w)")
EXAMPLES_SHOWN = 3
#: What the two texts of an instance are called in each task.
_PARTS = {
    "pair": ("Premise", "Hypothesis"),
    "choice": ("Question", "Choice"),
    "preference": ("Prompt", "Response"),
    "text": ("Context", "Text"),
    "open": ("Question", "Answer"),
}
CUES_PER_LABEL = 5


def finding_markdown(card: Card, finding: Finding) -> str:
    """Return a finding as Markdown that stands alone: numbers, chance, examples, data and command."""
    rows = [
        *facts(finding),
        ("Severity", finding.severity),
        ("Data", f"{escape(card.dataset.name)}, {_sizes(card)}"),
        ("Fingerprint", code(card.dataset.fingerprint)),
        *_method(card, finding),
    ]
    parts = [f"### {escape(finding.title)}", escape(finding.text, limit=2000)]
    if ways := other_ways(finding):
        parts.append(escape(ways, limit=1000))
    parts.append(markdown_table(("", ""), rows))
    if finding.evidence:
        examples = [_example(card, finding, evidence) for evidence in finding.evidence[:EXAMPLES_SHOWN]]
        parts.append("\n\n".join(examples))
    command = finding.command or card.provenance.command
    if command:
        parts.append(f"To reproduce: {code(command)}")
    return "\n\n".join(parts) + "\n"


@of_readable_card
def dataset_card_markdown(card: Card) -> str:
    """Return a section for the dataset's card: what was found, how strong, and how it was measured."""
    judged = verdict(card)
    parts = ["## Known cues", f"{escape(judged.headline)} {escape(judged.detail)}"]
    findings = [finding for finding in ordered_findings(card) if finding.severity != "info"]
    if findings:
        rows = [
            (
                escape(finding.title),
                measured(finding),
                wording.in_unit(finding.chance, finding.unit),
                wording.count(finding.n),
                finding.severity,
            )
            for finding in findings
        ]
        parts.append(markdown_table(("Finding", "Measured", "Chance", "Examples", "Severity"), rows))
    parts += [f"**{lists.question}** {escape(lists.sentence(), limit=1000)}" for lists in by_what(card)]
    strongest = _strongest_words(card)
    if strongest:
        parts.append(markdown_table(("Label", "Strongest cues (share of the label)"), strongest))
    not_run = [
        f"- {escape(section.title)}: {section.status}, {escape(section.reason)}"
        for section in card.sections.values()
        if section.status != "done"
    ]
    if not_run:
        parts.append("Not run:\n\n" + "\n".join(not_run))
    tool = f"Measured with CueCard {escape(card.provenance.versions.get('cuecard', ''))}".rstrip()
    parts.append(f"{tool} on {_sizes(card)}, data fingerprint {code(card.dataset.fingerprint)}.")
    if card.provenance.command:
        parts.append(f"To reproduce: {code(card.provenance.command)}")
    return "\n\n".join(parts) + "\n"


def escape(text: str, limit: int = 600) -> str:
    """Return a text as Markdown that renders as the text itself."""
    return isolated(_REFERENCE.sub("\\1\u200b", _SPECIAL.sub(r"\\\1", display_text(text, limit))))


def code(text: str) -> str:
    """Return a text as inline code, whatever backticks it has."""
    text = display_text(text, 1000)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{text}{space}{fence}"


def _method(card: Card, finding: Finding) -> list[tuple[str, str]]:
    section = card.sections.get(finding.section)
    if section is None:
        return []
    settings = section.parameters | section.settled
    plain = {k: v for k, v in settings.items() if v and isinstance(v, (str, int, float, list, tuple))}
    words = [
        f"{k} = {', '.join(map(str, v)) if isinstance(v, (list, tuple)) else v}" for k, v in plain.items()
    ]
    return [("Method", escape("; ".join([section.title, *words])))]


def _example(card: Card, finding: Finding, evidence: Evidence) -> str:
    def bold(text: str, field: str) -> str:
        words = evidence.highlight if looked_at(card, finding, field) else ()
        return "".join(
            f"**{escape(p.text)}**" if p.marked else _spaced(p.text) for p in highlight(text, words)
        )

    source = f"> — {escape(evidence.label)} ({escape(evidence.split)}, {escape(evidence.example_id)})"
    if not evidence.premise:
        return "\n".join([f"> {bold(evidence.hypothesis, 'hypothesis')}", ">", source])
    first, second = _PARTS[card.dataset.task]
    texts = [
        f"> {first}: {bold(evidence.premise, 'premise')}",
        ">",
        f"> {second}: {bold(evidence.hypothesis, 'hypothesis')}",
    ]
    return "\n".join([*texts, ">", source])


def _spaced(text: str) -> str:
    """Escape a stretch of text and keep the spaces at its ends."""
    stripped = text.strip()
    if not stripped:
        return text
    before, after = text[: text.index(stripped[0])], text[len(text.rstrip()) :]
    return f"{before}{escape(stripped)}{after}"


def _sizes(card: Card) -> str:
    return ", ".join(
        f"{wording.count(split.examples)} {escape(name)}" for name, split in card.dataset.splits.items()
    )


def _strongest_words(card: Card) -> list[tuple[str, str]]:
    from cuecard.audits.cues.view import strongest

    if "cues" not in card.tables:
        return []
    rows = []
    table = card.tables["cues"]
    if "adjusted_share" in table.columns:  # the share that the findings state
        table = table.with_columns(share=pl.coalesce("adjusted_share", "share"))
    for label in card.dataset.labels:
        cues = strongest(table, label, CUES_PER_LABEL)
        if cues.height:
            words = [
                f"{escape(f)} ({wording.percent(s, 0)})"
                for f, s in cues.select("feature", "share").iter_rows()
            ]
            rows.append((escape(label), ", ".join(words)))
    return rows


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown; cells are Markdown already."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
