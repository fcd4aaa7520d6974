"""Colours and type of every view: a quiet palette, safe for colour-blind readers, light and dark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

SANS = (
    "Inter, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', 'Liberation Sans', Arial, "
    "sans-serif"
)


@dataclass(frozen=True)
class Palette:
    """The colours of one scheme; text colours reach contrast AA on both grounds."""

    ground: str
    surface: str
    ink: str
    muted: str
    line: str
    accent: str
    mark: str  # behind a highlighted cue
    quiet: str  # points that are not significant
    labels: tuple[str, ...]
    severity: dict[str, str]


LIGHT = Palette(
    ground="#faf9f6",
    surface="#ffffff",
    ink="#1c2128",
    muted="#59616d",
    line="#e5e2db",
    accent="#1f5fa8",
    mark="#ffe9a8",
    quiet="#b9bcc2",
    labels=("#1a4b8c", "#dd6a2b", "#229e8c", "#9c58d6", "#6e5600", "#b83a78", "#4398d0", "#6b7280"),
    severity={"high": "#b3351c", "medium": "#8f5a00", "low": "#1f5fa8", "info": "#59616d"},
)

DARK = Palette(
    ground="#13161b",
    surface="#1a1e25",
    ink="#e8eaee",
    muted="#a2aab6",
    line="#2d333d",
    accent="#83b5f0",
    mark="#5c4a12",
    quiet="#4d5562",
    labels=("#4d8fe8", "#d9682f", "#6fe3b8", "#dda0e6", "#c9a227", "#e86aa6", "#9fd8f5", "#9aa3b2"),
    severity={"high": "#ff8a70", "medium": "#e9b04a", "low": "#83b5f0", "info": "#a2aab6"},
)


def css_variables(palette: Palette) -> str:
    """Return the palette as CSS custom properties."""
    names = ("ground", "surface", "ink", "muted", "line", "accent", "mark", "quiet")
    pairs = [(name, getattr(palette, name)) for name in names]
    pairs += [(f"label-{i}", colour) for i, colour in enumerate(palette.labels)]
    pairs += [(f"severity-{name}", colour) for name, colour in palette.severity.items()]
    return " ".join(f"--{name}: {colour};" for name, colour in pairs)


def vega_config(palette: Palette) -> dict[str, Any]:
    """Return the Vega-Lite configuration that gives every chart this palette.

    Charts name styles ("interval", "prior", …) and never colours, so that a report can change scheme without
    building its charts twice.
    """
    axis = {
        "domain": False,
        "ticks": False,
        "grid": True,
        "gridColor": palette.line,
        "labelColor": palette.muted,
        "labelFontSize": 12,
        "labelPadding": 6,
        "titleColor": palette.muted,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
    }
    return {
        "font": SANS,
        "background": "transparent",
        "view": {"stroke": None},
        "range": {"category": list(palette.labels)},
        "axis": axis,
        "axisQuantitative": {"tickCount": 6},
        "axisBand": {"grid": False, "labelColor": palette.ink},
        "legend": {
            "orient": "top",
            "direction": "horizontal",
            "title": None,
            "labelColor": palette.ink,
            "labelFontSize": 12,
            "labelLimit": 220,
            "titleColor": palette.muted,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "symbolSize": 70,
            "symbolBaseFillColor": palette.muted,
            "symbolBaseStrokeColor": palette.muted,
            "offset": 8,
            "columnPadding": 18,
        },
        "title": {"color": palette.ink, "fontSize": 13, "offset": 12},
        "header": {"labelColor": palette.ink, "labelFontSize": 12, "titleColor": palette.muted},
        "text": {"color": palette.ink, "fontSize": 12},
        "rule": {"color": palette.muted},
        "tick": {"color": palette.muted},
        "mark": {"color": palette.accent},
        "style": {
            "cell": {"stroke": None},
            "name": {"color": palette.ink, "fontSize": 12},
            "halo": {"stroke": palette.surface, "strokeWidth": 4, "strokeJoin": "round", "fontSize": 12},
            "figure": {"color": palette.muted, "fontSize": 12},
            "prior": {"color": palette.muted, "strokeDash": [4, 4], "strokeWidth": 1},
            "quiet": {"color": palette.quiet},
            "accent": {"color": palette.accent},
            "hollow": {"fill": palette.surface},
        },
    }
