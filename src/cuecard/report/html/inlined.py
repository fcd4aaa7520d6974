"""What a report carries inside itself: data and scripts that cannot break out of their element."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from cuecard.cache import cache_folder, keep_file

_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def script_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever the texts in it say."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda m: _UNSAFE[m[0]], text)


def resource(name: str) -> str:
    """Return a file of this package's templates as text."""
    return files("cuecard.report.html").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, from the installed vl-convert.

    Bundling it takes seconds, and every report has the same: it is kept in the cache, beside its hash.
    """
    file = cache_folder() / "charts" / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, ValueError):
        digest, script = file.read_text(encoding="utf-8").split("\n", 1)
        if digest == f"// {script_hash(script)}":
            return script
    script = _bundle()
    keep_file(file, lambda staged: staged.write_bytes(f"// {script_hash(script)}\n{script}".encode()))
    return script


def _bundle() -> str:
    import vl_convert

    bundle: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    # The HTML parser looks for these inside a script, even within its strings and regular expressions.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")


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
