"""Saliency maps of two models as coloured tokens, one above the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import polars as pl

from cuecard.report.html.page import resource
from cuecard.report.palette import DARK, LIGHT, SANS, css_variables
from cuecard.view import HOW_TO_READ_MAPS
from cuecard.wording import display_text
from cuecard.writing import write_text

#: The darkest a token gets: ink on it still reaches contrast AA in both schemes.
DARKEST = 0.45


@dataclass(frozen=True)
class _Line:
    """A model's name, and its relevance of the tokens of both texts."""

    name: str
    premise: Sequence[float]
    hypothesis: Sequence[float]


def saliency_html(maps: pl.DataFrame, *, full: str = "full input", partial: str = "partial input") -> str:
    """Return a table of `token_relevance(...).maps` as HTML: each example once per model, tokens coloured.

    The colour is the relevance relative to the largest of the same map; the share itself is in the tooltip and
    read out by screen readers for the tokens that matter most, and underlined for those who see no colour.
    """
    return "\n".join(_example(row, full, partial) for row in maps.iter_rows(named=True))


def _example(row: dict[str, object], full: str, partial: str) -> str:
    premise, hypothesis = _strings(row["premise"]), _strings(row["hypothesis"])
    lines = [
        _Line(full, _numbers(row["full_premise"]), _numbers(row["full_hypothesis"])),
        _Line(partial, _numbers(row["partial_premise"]), _numbers(row["partial_hypothesis"])),
    ]
    cosine = f"{row['cosine']:.2f}"
    head = (
        f'<figcaption><span class="sal-label">{escape(display_text(row["label"], 60))}</span> '
        f'<span class="sal-id">{escape(display_text(row["example_id"], 60))}</span> '
        f'<span class="sal-cosine">cosine {cosine}</span></figcaption>'
    )
    body = "".join(_model(line, premise, hypothesis) for line in lines)
    return f'<figure class="saliency">{head}<dl>{body}</dl></figure>'


def _model(line: _Line, premise: Sequence[str], hypothesis: Sequence[str]) -> str:
    most = max([*line.premise, *line.hypothesis], default=0.0)
    sides = []
    for tokens, values in ((premise, line.premise), (hypothesis, line.hypothesis)):
        if tokens:
            unread = "" if any(values) else " sal-unread"
            spans = " ".join(_token(token, value, most) for token, value in zip(tokens, values, strict=True))
            note = '<span class="sal-note">not seen</span> ' if unread else ""
            sides.append(f'<span class="sal-text{unread}">{note}{spans}</span>')
    return f"<dt>{escape(line.name)}</dt><dd>{''.join(sides)}</dd>"


def _token(token: str, value: float, most: float) -> str:
    share = value / most if most else 0.0
    strong = " sal-strong" if share >= 0.5 else ""
    spoken = f'<span class="sal-spoken"> ({value:.0%})</span>' if strong else ""
    return (
        f'<span class="sal-token{strong}" style="--r:{100 * DARKEST * share:.0f}%" title="{value:.1%} of the map">'
        f"{escape(display_text(token, 60))}{spoken}</span>"
    )


def saliency_page(
    maps: pl.DataFrame,
    lead: str,
    *,
    title: str = "Saliency maps",
    full: str = "full input",
    partial: str = "partial input",
) -> str:
    """Return the figures as one HTML page that opens anywhere, with a sentence above them."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
:root {{ color-scheme: light dark; {css_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {css_variables(DARK)} }} }}
body {{ font: 16px/1.5 {SANS}; color: var(--ink); background: var(--ground); max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }}
h1 {{ font-size: 1.4rem; }}
{resource("saliency.css")}
</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
<p>{escape(lead)}</p>
<p>{escape(HOW_TO_READ_MAPS)}</p>
{saliency_html(maps, full=full, partial=partial)}
</main>
</body>
</html>
"""


def write_saliency_page(path: Path, maps: pl.DataFrame, lead: str, **names: str) -> None:
    """Write `saliency_page` to a file, whole or not at all."""
    write_text(Path(path), saliency_page(maps, lead, **names))


def _strings(values: object) -> list[str]:
    return [str(value) for value in values] if isinstance(values, list) else []


def _numbers(values: object) -> list[float]:
    return [float(value) for value in values] if isinstance(values, list) else []
