"""The findings of a card in the order and the shape they are shown in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from cuecard import wording
from cuecard.analysis import SEVERITIES, Finding, most_serious_first
from cuecard.card.card import Card
from cuecard.wording import display_text, listed

__all__ = [
    "SEVERITIES",
    "Meter",
    "facts",
    "how_many_more",
    "is_rate",
    "looked_at",
    "meter",
    "ordered_findings",
    "other_ways",
    "worst_severity",
]


#: Sections whose accuracies are those of a learner, so that a stronger one may do better.
_LEARNED = ("partial_input", "pair_graph", "slices")


def how_many_more(findings: Sequence[Finding]) -> str:
    """Return how many findings are not shown yet, remarks apart: “14 more findings and 11 remarks”."""
    remarks = sum(finding.severity == "info" for finding in findings)
    parts = [wording.plural(len(findings) - remarks, "more finding")] if len(findings) > remarks else []
    return listed([*parts, *([wording.plural(remarks, "remark")] if remarks else [])])


def ordered_findings(card: Card) -> list[Finding]:
    """Return the findings, most serious first, otherwise in the card's order."""
    return most_serious_first(card.findings)


def measured(finding: Finding) -> str:
    """Return the number of a finding with its interval; what a learner reached is "at least" that much."""
    said = wording.in_unit(finding.value, finding.unit)
    if finding.section in _LEARNED and finding.unit == "share" and finding.value is not None:
        said = f"at least {said}"
    interval = wording.interval_in_unit(finding.low, finding.high, finding.unit)
    return f"{said}, 95 % CI {interval}" if interval else said


def worst_severity(card: Card, section: str) -> str:
    """Return the severity of a section's most serious finding, "none" where it has none."""
    graded = [finding.severity for finding in ordered_findings(card) if finding.section == section]
    return next(iter(graded), "none")


@dataclass(frozen=True)
class Meter:
    """A rate on a line from 0 to 100 %, with its interval and chance, as positions in percent."""

    value: float
    low: float | None
    width: float | None
    chance: float | None
    spoken: str


def meter(finding: Finding) -> Meter | None:
    """Return where to draw a finding's rate, or None where its number is none."""
    if not is_rate(finding) or finding.value is None or finding.chance is None:
        return None
    if finding.role == "flaw" and finding.chance == 0.0:  # the share that it concerns has no chance level
        return None
    spoken = wording.percent(finding.value)
    low = width = None
    if finding.low is not None and finding.high is not None:
        low, width = 100 * finding.low, 100 * (finding.high - finding.low)
        spoken += f", {wording.ci(finding.low, finding.high)}"
    spoken += f", chance {wording.percent(finding.chance)}"
    return Meter(100 * finding.value, low, width, 100 * finding.chance, spoken)


def is_rate(finding: Finding) -> bool:
    """Return whether a finding's number is a share of something."""
    return finding.value is not None and finding.unit == "share"


def facts(finding: Finding) -> list[tuple[str, str]]:
    """Return a finding's numbers with what each is: measured (with interval), chance, how many."""
    shown = []
    write = partial(wording.in_unit, unit=finding.unit)
    difference = finding.unit == "points"
    if finding.value is not None:
        value = write(finding.value)
        shown.append(("Difference", f"{value} points") if difference else ("Measured", value))
    if interval := wording.interval_in_unit(finding.low, finding.high, finding.unit):
        shown.append(("95 % CI", interval))
    if finding.chance is not None and not (finding.chance == 0.0 and (difference or finding.role == "flaw")):
        shown.append(("Chance", write(finding.chance)))
    if finding.n is not None:
        shown.append((finding.counted.capitalize(), wording.count(finding.n)))
    return shown


def other_ways(finding: Finding) -> str:
    """Return the other ways in which the data say the same, or nothing."""
    return (
        f"Overlaps with: {'; '.join(display_text(part, 80) for part in finding.parts)}."
        if finding.parts
        else ""
    )


def looked_at(card: Card, finding: Finding, field: str) -> bool:
    """Return whether a finding's words were looked for in this text: marking the other one would mislead."""
    section = card.sections.get(finding.section)
    scope = section.parameters.get("scope", "both") if section else "both"
    return scope in ("both", field)


#: Cues that need no border of a word: with an apostrophe or another sign, or in a script without spaces.
_INSIDE_WORDS = re.compile(
    "[^\\w\\s]|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_APOSTROPHES = "['\u2019]"
#: Zero-width non-joiner and joiner.
_JOINERS = "\u200c\u200d"
#: Runs of words written from right to left, with the spaces and marks between them.
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]"
    "(?:[ \u00a0'\u2019\u200c\u200d-]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe])*"
)
#: A cue of more characters (a text without spaces) is not marked: its pattern would take seconds.
_LONGEST = 300


@dataclass(frozen=True)
class Piece:
    """A stretch of text that is or is not part of the cue."""

    text: str
    marked: bool = False


def isolated(text: str, before: str = "\u2068", after: str = "\u2069") -> str:
    """Return a text whose words written from right to left cannot reorder the sentence around them.

    They stand between isolates (U+2068, U+2069), or between what is given instead. The terminal prints none: many
    terminals show them as boxes.
    """
    return _RIGHT_TO_LEFT.sub(lambda run: f"{before}{run[0]}{after}", text)


def highlight(text: str, words: Sequence[str], limit: int = 600) -> list[Piece]:
    """Return a text in pieces, those that match one of the words marked.

    Whole words are looked for first; only if there is none, any place, where a cue can be part of what is written
    together (Chinese, or `n't` in "don't"; not "to" in "together"). A long text is cut so that the first match stays in
    view.
    """
    text = display_text(text, limit=max(len(text) * 8, 1))
    spans = _matches(text, words)
    lead = ""
    if len(text) > limit:
        start = max(0, spans[0][0] - limit // 3) if spans else 0
        end = min(len(text), start + limit)
        lead, tail = "…" if start else "", "…" if end < len(text) else ""
        text = text[start:end] + tail
        spans = [(a - start, min(b, end) - start) for a, b in spans if a < end and b > start]
    pieces = [Piece(lead)] if lead else []
    at = 0
    for a, b in spans:
        if a > at:
            pieces.append(Piece(text[at:a]))
        pieces.append(Piece(text[a:b], marked=True))
        at = b
    if at < len(text):
        pieces.append(Piece(text[at:]))
    return pieces


def _spelt(word: str) -> str:
    """Return a pattern for a word as it can be spelt: with either apostrophe, with or without joiners."""
    letters = [_APOSTROPHES if c in "'\u2019" else re.escape(c) for c in word if c not in _JOINERS]
    return (f"[{_JOINERS}]?" if not word.isascii() else "").join(letters)


def _matches(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of the words in a text, in order, overlapping ones joined."""
    spoken = [word for word in words if word.strip() and len(word) <= _LONGEST]
    patterns = [r"\W+".join(map(_spelt, word.split())) for word in spoken]
    if not patterns:
        return []
    either = "|".join(patterns)
    spans = [m.span() for m in re.finditer(rf"(?<!\w)(?:{either})(?!\w)", text, re.IGNORECASE)]
    if not spans:
        within = [p for p, word in zip(patterns, spoken, strict=True) if _INSIDE_WORDS.search(word)]
        spans = [m.span() for m in re.finditer("|".join(within), text, re.IGNORECASE)] if within else []
    joined: list[tuple[int, int]] = []
    for a, b in sorted(spans):
        if joined and a < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(b, joined[-1][1]))
        else:
            joined.append((a, b))
    return joined
