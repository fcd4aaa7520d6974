"""A chart or saliency maps as a file of its own: a page that opens offline, or a picture."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path

import polars as pl
from altair.typing import ChartType

from cuecard._lazy import PYTHON
from cuecard.analysis import Summary
from cuecard.data import Instances
from cuecard.errors import InputError, MissingExtraError, UsageError
from cuecard.limits import check_file
from cuecard.report.charts.data_map import data_map
from cuecard.report.charts.drawing import themed
from cuecard.report.html.page import CHART_LIBRARY, resource, script_json, security_policy
from cuecard.report.palette import DARK, LIGHT, SANS, css_variables
from cuecard.view import HOW_TO_READ_MAPS
from cuecard.wording import display_text
from cuecard.writing import write_text, write_whole

#: Seconds after which the engine is stuck.
_LIMIT = 300

_PICTURE = """
import json, sys, vl_convert
request = json.load(sys.stdin)
drawn = getattr(vl_convert, "vegalite_to_" + request["format"])(request["chart"])
sys.stdout.buffer.write(drawn if isinstance(drawn, bytes) else drawn.encode())
"""


def check_engine(suffix: str) -> None:
    """Raise if what draws pictures is not installed."""
    if find_spec("vl_convert") is None:
        raise MissingExtraError("vl-convert-python", "images", f"A chart as {suffix}")


def picture(chart: Summary, kind: str) -> bytes:
    """Return a chart, from its specification, as "png" or "svg"."""
    return _run(_PICTURE, json.dumps({"chart": chart, "format": kind}).encode())


def _run(script: str, text: bytes = b"") -> bytes:
    """Return what a script prints; if its process dies or fails, raise an error that says what to do."""
    try:
        done = subprocess.run([*PYTHON, "-c", script], input=text, capture_output=True, timeout=_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _unavailable(str(error)) from None
    if done.returncode or not done.stdout:
        lines = done.stderr.decode(errors="replace").split("\n")
        raise _unavailable(next((line.strip("# \r") for line in lines if line.strip("# \r")), "no reason"))
    return done.stdout


def _unavailable(reason: str) -> InputError:
    return InputError(
        f"The JavaScript engine that draws charts cannot run ({reason[:200]}): lift the limit on address "
        "space (ulimit -v unlimited; the engine reserves more than 40 GB), or write an .html chart on another machine."
    )


SUFFIXES = (".html", ".png", ".svg")


def check_chart_path(path: str | Path) -> Path:
    """Return the path, or raise if its name does not tell a format that charts can be written in here."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: charts are written as .html, .png or .svg.")
    if path.suffix != ".html":
        check_engine(path.suffix)
    return path


def check_chart(path: Path, *, inputs: Iterable[object] = ()) -> None:
    """Raise if no chart can be written to a path, or if it is one of the inputs."""
    check_file(check_chart_path(path), inputs=inputs, option="--chart")


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


def write_chart(chart: ChartType, path: str | Path, *, title: str = "Charts", note: str = "") -> Path:
    """Write a chart with its colours, whole or not at all, and return its path; a page has the note below it."""
    path = check_chart_path(path)
    if path.suffix == ".html":
        write_text(path, chart_page(chart, title, note), errors="replace")
    else:
        drawn = picture(themed(chart).to_dict(), path.suffix.removeprefix("."))
        write_whole(path, lambda staged: staged.write_bytes(drawn))
    return path


def chart_page(chart: ChartType, title: str, note: str = "") -> str:
    """Return a page with one chart that fetches nothing and that no text of a dataset can break out of."""
    scripts = [resource(CHART_LIBRARY), _START]
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


def write_data_map(
    dynamics: pl.DataFrame, path: str | Path, data: Instances | None = None, *, of: str = ""
) -> Path:
    """Write confidence × variability as a page that opens offline (or .png, .svg), and return its path.

    Args:
        dynamics: what `cuecard.train(..., dynamics=True).dynamics` holds; of several splits, train is drawn.
        path: the file to write.
        data: the dataset, to show the texts of examples; left out, only their ids are shown.
        of: whose map it is, such as "bilstm on snli, hypothesis only".
    """
    if "split" in dynamics.columns:
        dynamics = dynamics.filter(pl.col("split").cast(pl.String) == "train")
    if data is not None:
        train = data.train.table
        right = train.filter(pl.col("label") == data.labels[0]) if data.grouped else train
        texts = right.select("example_id", "premise", "hypothesis", pl.col("label").cast(pl.String))
        texts = texts.unique("example_id", keep="first", maintain_order=True)
        dynamics = dynamics.join(texts, on="example_id", how="left", maintain_order="left")
    return write_chart(data_map(dynamics, of=of), path, title="Data map")


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
