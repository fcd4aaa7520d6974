"""A chart as a file of its own: a page that opens offline, or a picture."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
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
from cuecard.report.palette import LIGHT, SANS
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
