"""What every page of ours is made of, inside one file that opens offline, and how large it may get."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cuecard import wording
from cuecard.analysis import Summary
from cuecard.report.findings import isolated
from cuecard.report.palette import DARK, LIGHT, css_variables, vega_config
from cuecard.report.sections import SectionView, TableView
from cuecard.view import Chart
from cuecard.wording import display_text

#: Vega, Vega-Lite and Vega-Embed as one script, written by `scripts/bundle_charts.py`.
CHART_LIBRARY = "vega.js"
#: Spaces between a number and its per cent sign, and between a comparison and its number.
_APART = re.compile(r"(?<=\d) (?=%)|(?<= [=<>≤≥]) (?=\d)")
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def script_json(value: object) -> str:
    """Return JSON that is safe inside a script element, whatever the texts in it say."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda m: _UNSAFE[m[0]], text)


def resource(name: str) -> str:
    """Return a file of this package's templates as text."""
    return files("cuecard.report.html").joinpath("templates", name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """Return the source expression by which a content security policy allows exactly this script."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def security_policy(scripts: list[str]) -> str:
    """Return a policy under which only our own scripts run and nothing is fetched.

    Vega interprets its expressions (`ast: true`), so no string is ever evaluated; it does set styles.
    """
    allowed = " ".join(script_hash(script) for script in scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


#: What the parts of a page may take. The chart library and styles take 0.9 MB beside them.
TABLE_BYTES, CHART_BYTES, FINDING_BYTES = 650_000, 920_000, 400_000
#: Markup around a cell of text, of a number with its exact value, of a label, and around a finding.
_TEXT, _NUMBER, _LABEL, _FINDING = 24, 60, 96, 4_000
#: Rows that a chart keeps however large it is: points that have a name come first.
_FIRST_ROWS = 24


def fitted_views(views: Sequence[SectionView], budget: int = TABLE_BYTES) -> list[SectionView]:
    """Return the views with the rows of their tables cut so that all together take at most that many bytes."""
    tables = [table for view in views for table in view.tables]
    sizes = [[_row_bytes(table, row) for row in table.rows] for table in tables]
    shares = shared_out([sum(rows) for rows in sizes], budget)
    short = iter(
        replace(table, rows=table.rows[: _as_many(rows, share)])
        for table, rows, share in zip(tables, sizes, shares, strict=True)
    )
    return [replace(view, tables=[next(short) for _ in view.tables]) for view in views]


def fitted_charts(charts: Mapping[str, JsonObject], budget: int = CHART_BYTES) -> JsonObject:
    """Return the specifications, those that are too large drawn from part of their rows; each of them says so."""
    sizes = [len(json.dumps(chart, ensure_ascii=False).encode()) for chart in charts.values()]
    shares = shared_out(sizes, budget)
    return {
        name: chart if size <= share else _thinned(chart, size, share)
        for (name, chart), size, share in zip(charts.items(), sizes, shares, strict=True)
    }


def findings_that_fit(snippets: Sequence[str], budget: int = FINDING_BYTES) -> int:
    """Return how many findings are shown, by their Markdown: the page holds it, and the same again as HTML."""
    return _as_many([2 * len(text.encode()) + _FINDING for text in snippets], budget)


def shared_out(sizes: Sequence[int], budget: int) -> list[int]:
    """Return what each may take: all it needs, or where that is too much in sum, a common limit for the largest.

    >>> shared_out([10, 50, 90], 100)
    [10, 45, 45]
    """
    limits = [0] * len(sizes)
    left = budget
    for place, i in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        limits[i] = min(sizes[i], left // (len(sizes) - place))
        left -= limits[i]
    return limits


def _as_many(sizes: Sequence[int], budget: int) -> int:
    total = 0
    for i, size in enumerate(sizes):
        total += size
        if total > budget:
            return i
    return len(sizes)


def _row_bytes(table: TableView, row: Sequence[object]) -> int:
    return sum(
        len(column.write(value).encode())
        + (_NUMBER if column.numeric else _LABEL if column.kind == "label" else _TEXT)
        for column, value in zip(table.columns, row, strict=True)
    )


def _thinned(chart: Summary, size: int, share: int) -> JsonObject:
    """Return a chart whose longest list of rows keeps the first and evenly chosen others, as many as fit."""
    datasets = dict(chart.get("datasets", {}))
    longest = max(datasets, key=lambda name: len(json.dumps(datasets[name])), default=None)
    if longest is None:
        return dict(chart)
    rows = datasets[longest]
    spare = len(json.dumps(rows, ensure_ascii=False).encode()) - (size - share)
    keep = max(1, int(len(rows) * max(0, spare) / max(1, size - share + spare)))
    first = min(_FIRST_ROWS, keep // 2)
    others = [first + i * (len(rows) - first) // (keep - first) for i in range(keep - first)]
    datasets[longest] = [rows[i] for i in [*range(first), *others]]
    note = f"Drawn from {wording.count(keep)} of {wording.count(len(rows))} rows."
    return {
        **chart,
        "datasets": datasets,
        "description": f"{chart.get('description', '')} {note}".strip(),
        "usermeta": {"note": note},
    }


JsonObject = dict[str, Any]
#: Our own scripts, in the order they run: the app has the first two as well.
PAGE_SCRIPTS = ("tables.js", "charts.js", "report.js")


def environment() -> Environment:
    """Return what renders our templates."""
    return Environment(
        loader=PackageLoader("cuecard.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def sentence(text: object, limit: int = 600) -> Markup:
    """Return a text to be shown as HTML, words written from right to left isolated; no line begins with a unit."""
    glued = _APART.sub("\N{NO-BREAK SPACE}", display_text(text, limit))
    return Markup(isolated(str(escape(glued)), "<bdi>", "</bdi>"))


def inlined_parts(charts: Mapping[str, Chart], *, snippets: Sequence[str] = ()) -> JsonObject:
    """Return the styles, the scripts, their policy and the data of a page, as its template takes them.

    Args:
        charts: what is drawn, by the name of its place on the page.
        snippets: what the buttons "Copy as Markdown" copy, in their order.
    """
    drawn, libraries = _drawn(charts)
    payload = {
        "charts": drawn,
        "themes": {"light": vega_config(LIGHT), "dark": vega_config(DARK)},
        "snippets": list(snippets),
    }
    scripts = [*libraries, *map(resource, PAGE_SCRIPTS)]
    return {
        "css": Markup(resource("report.css") + resource("saliency.css")),
        "light": Markup(css_variables(LIGHT)),
        "dark": Markup(css_variables(DARK)),
        "scripts": [Markup(script) for script in scripts],
        "payload": Markup(script_json(payload)),
        "policy": security_policy(scripts),
    }


def _drawn(charts: Mapping[str, Chart]) -> tuple[JsonObject, list[str]]:
    """Return the specification of every chart, and the chart library if there is any chart."""
    if not charts:
        return {}, []
    from cuecard.report.charts.kinds import chart_specification

    specifications = {name: chart_specification(chart) for name, chart in charts.items()}
    return fitted_charts(specifications), [resource(CHART_LIBRARY)]
