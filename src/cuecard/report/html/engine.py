"""What needs the JavaScript engine, in a process of its own: where its memory is limited, the engine aborts."""

from __future__ import annotations

import json
import subprocess
from importlib.util import find_spec

from cuecard._lazy import PYTHON
from cuecard.analysis import Summary
from cuecard.errors import InputError, MissingExtraError

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
