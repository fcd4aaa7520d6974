"""A chart as a file of its own: a page that opens offline, or a picture."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from cuecard.errors import InputError
from cuecard.report.charts.drawing import themed
from cuecard.report.html.chart_library import WITHOUT, chart_library
from cuecard.report.html.chart_path import check_chart_path
from cuecard.report.html.engine import picture
from cuecard.report.html.inlined import script_json, security_policy
from cuecard.report.palette import LIGHT, SANS
from cuecard.writing import write_text, write_whole

_START = """
const spec = JSON.parse(document.getElementById("chart-data").textContent);
const actions = { export: { png: true, svg: true }, source: false, compiled: false, editor: false };
window.vegaEmbed("#chart", spec, { mode: "vega-lite", ast: true, actions });
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="CueCard">
<title>{title} · CueCard</title>
<style>
body {{ margin: 1rem; background: {ground}; color: {ink}; font: 15px/1.5 {font}; }}
p {{ max-width: 44rem; }}
</style>
</head>
<body>
<div id="chart"></div>
{note}
<script type="application/json" id="chart-data">{spec}</script>
{scripts}
</body>
</html>
"""


def write_chart(chart: Any, path: str | Path, *, title: str = "Charts", note: str = "") -> Path:
    """Write a chart with its colours, whole or not at all, and return its path; a page has the note below it."""
    path = check_chart_path(path)
    if path.suffix == ".html":
        write_text(path, chart_page(chart, title, note), errors="replace")
    else:
        drawn = picture(themed(chart).to_dict(), path.suffix.removeprefix("."))
        write_whole(path, lambda staged: staged.write_bytes(drawn))
    return path


def chart_page(chart: Any, title: str, note: str = "") -> str:
    """Return a page with one chart that fetches nothing and that no text of a dataset can break out of."""
    library = chart_library()
    if library is None:
        raise InputError(WITHOUT)
    scripts = [library, _START]
    return _PAGE.format(
        policy=escape(security_policy(scripts), quote=True),
        title=escape(title),
        ground=LIGHT.surface,
        ink=LIGHT.ink,
        font=SANS,
        note=f"<p>{escape(note)}</p>" if note else "",
        spec=script_json(themed(chart).to_dict()),
        scripts="\n".join(f"<script>{script}</script>" for script in scripts),
    )
