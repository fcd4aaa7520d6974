"""Dataset texts made fit to be looked at: nothing hidden, nothing endless, the cue marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cuecard.wording import display_text

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
