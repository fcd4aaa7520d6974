"""What every page of ours is made of: templates, styles, charts and scripts, all inside one file that opens offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cuecard.report.html.chart_library import WITHOUT, chart_library
from cuecard.report.html.inlined import resource, script_json, security_policy
from cuecard.report.html.size import fitted_charts
from cuecard.report.palette import DARK, LIGHT, css_variables, vega_config
from cuecard.report.texts import isolated
from cuecard.view import Chart
from cuecard.wording import display_text

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
    """Return a text to be shown as HTML, words written from right to left isolated."""
    return Markup(isolated(str(escape(display_text(text, limit))), "<bdi>", "</bdi>"))


def inlined_parts(charts: Mapping[str, Chart], *, snippets: Sequence[str] = ()) -> dict[str, Any]:
    """Return the styles, the scripts, their policy and the data of a page, as its template takes them.

    Args:
        charts: what is drawn, by the name of its place on the page.
        snippets: what the buttons "Copy as Markdown" copy, in their order.
    """
    drawn, libraries = _drawn(charts)
    payload = {
        "charts": drawn,
        "without_charts": WITHOUT if drawn and not libraries else "",
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


def _drawn(charts: Mapping[str, Chart]) -> tuple[dict[str, Any], list[str]]:
    """Return the specification of every chart, and the chart library if there is any chart."""
    if not charts:
        return {}, []
    # Bundling the library takes seconds outside of Python: the charts are built meanwhile.
    with ThreadPoolExecutor(max_workers=1) as pool:
        library = pool.submit(chart_library)
        from cuecard.report.charts.kinds import chart_specification

        specifications = {name: chart_specification(chart) for name, chart in charts.items()}
        script = library.result()
        return fitted_charts(specifications), [] if script is None else [script]
