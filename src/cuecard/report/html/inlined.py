"""What a report carries inside itself: data and scripts that cannot break out of their element."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files

#: Vega, Vega-Lite and Vega-Embed as one script, written by `scripts/bundle_charts.py`.
CHART_LIBRARY = "vega.js"
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
