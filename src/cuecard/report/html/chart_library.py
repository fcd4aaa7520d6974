"""Vega, Vega-Lite and Vega-Embed as one script: shipped with the package, or bundled once and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from cuecard.cache import cache_folder, keep_file
from cuecard.errors import InputError
from cuecard.report.html.engine import javascript_bundle
from cuecard.report.html.inlined import script_hash

#: Made when the package is built (`scripts/bundle_charts.py`); a checkout that was never built has none.
SHIPPED = Path(__file__).parent / "templates" / "vega.js"
WITHOUT = (
    "This report has no charts, because its chart library could not be bundled here: write it again with `cuecard "
    "report` where the JavaScript engine can start (it reserves more than 40 GB of address space)."
)


@cache
def chart_library() -> str | None:
    """Return the script, or None where there is none and none can be made.

    The one that was shipped is used if it was made by the installed vl-convert, whose Vega-Lite the charts are written
    for. Otherwise one is bundled, which takes seconds, and kept in the cache.
    """
    current = version("vl-convert-python")
    kept = cache_folder() / "charts" / f"vega-{current}.js"
    sources: list[Callable[[], str | None]] = [
        lambda: read_script(SHIPPED, current),
        lambda: read_script(kept, current),
        lambda: _bundled(kept, current),
        lambda: read_script(SHIPPED),
    ]
    return next(_available(sources), None)


def _available(sources: list[Callable[[], str | None]]) -> Iterator[str]:
    for source in sources:
        with suppress(InputError):
            if script := source():
                yield script


def read_script(file: Path, made_by: str | None = None) -> str | None:
    """Return the script in a file if it is whole and, where a version is named, was made by that vl-convert."""
    with suppress(OSError, ValueError):
        first, script = file.read_text(encoding="utf-8").split("\n", 1)
        _, _, maker, digest = first.split(" ")
        if digest == script_hash(script) and made_by in (None, maker):
            return script
    return None


def with_first_line(script: str, maker: str) -> bytes:
    """Return the content of a file that `read_script` reads."""
    return f"// vl-convert {maker} {script_hash(script)}\n{script}".encode()


def _bundled(kept: Path, maker: str) -> str:
    # The HTML parser looks for these inside a script, even within its strings and regular expressions.
    script = javascript_bundle().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    keep_file(kept, lambda staged: staged.write_bytes(with_first_line(script, maker)))
    return script
