"""A badge for a README: how serious the findings of a card are, as an SVG without scripts or fonts from elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from xml.sax.saxutils import escape

from cuecard import wording
from cuecard.analysis import Severity
from cuecard.card.card import Card

_COLOURS: dict[Severity, str] = {"high": "#b42318", "medium": "#b54708", "low": "#175cd3"}
#: Nothing found is not a proof of nothing: the colour is neutral.
_NEUTRAL = "#475467"
_TITLE = "CueCard"
#: Width of a character of Verdana at 11 pixels, and the space around a text.
_CHARACTER, _PADDING = 6.6, 12


def badge_svg(card: Card) -> str:
    """Return a badge with the number of findings of the worst severity."""
    done = [name for name, section in card.sections.items() if section.status == "done"]
    return severity_badge(Counter(finding.severity for finding in card.findings), done)


def severity_badge(severities: Mapping[str, int], tested: Collection[str]) -> str:
    """Return a badge from the number of findings of every severity, and the sections that were completed."""
    words, colour = _worst(severities) or (_without_findings(tested), _NEUTRAL)
    left, right = (round(len(text) * _CHARACTER + _PADDING) for text in (_TITLE, words))
    width = left + right
    spoken = escape(f"{_TITLE}: {words}", {'"': "&quot;"})
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{spoken}">
  <title>{spoken}</title>
  <rect width="{width}" height="20" rx="3" fill="{colour}"/>
  <path d="M3 0h{left - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#1d2939"/>
  <g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
    <text x="{left / 2:g}" y="14">{_TITLE}</text>
    <text x="{left + right / 2:g}" y="14">{escape(words)}</text>
  </g>
</svg>
"""


def _worst(severities: Mapping[str, int]) -> tuple[str, str] | None:
    for severity, colour in _COLOURS.items():
        if n := severities.get(severity, 0):
            return wording.plural(n, f"{severity} finding"), colour
    return None


def _without_findings(tested: Collection[str]) -> str:
    if not tested:
        return "not tested"
    return "no cue found" if "cues" in tested else "no finding, cues not tested"
