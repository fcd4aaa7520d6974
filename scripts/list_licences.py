"""Write docs/licences.md: the licence of every package that CueCard and its tests install.

python scripts/list_licences.py [--check]
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "licences.md"
#: Licences under which a package may be used by one under Apache-2.0 that does not copy its code.
COMPATIBLE = re.compile(
    r"^(?:MIT|MIT License|MIT-0|0BSD|BSD.*|3-Clause BSD.*|Apache.*|ISC.*|PSF.*|Python Software Foundation.*|MPL.*|"
    r"Mozilla Public.*|Zlib|CC0-1\.0|"
    r"BSL-1\.0|CNRI-Python|HPND|Unlicense|The Unlicense.*|Public Domain)$"
)
#: Packages whose metadata do not say it: from their licence files, or from another distributor.
READ = {
    "agent-client-protocol": "Apache-2.0",
    "axe-playwright-python": "MIT",
    "mlcroissant": "Apache-2.0",
    "sarif-pydantic": "MIT",
}
HEAD = """# Licences of dependencies

CueCard is under Apache-2.0. Every package that it installs, with its extras `english`, `nltk`, `spelling`, `zh`, `llm`,
`models`, `minilm`, `serve`, `mcp`, `ray`, `inspect` and `images`, and every package that its tests need has a licence
that permits this use; none is under the GPL. Reports carry Vega, Vega-Lite and Vega-Embed (BSD-3-Clause) as one script,
whose first lines name what is in it. The table is written by `python scripts/list_licences.py`; a test compares it with
what is installed.

| package | licence |
|---|---|
"""


def roots() -> list[Requirement]:
    """Return what `make test` installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    used = (
        "english",
        "nltk",
        "spelling",
        "zh",
        "llm",
        "models",
        "minilm",
        "serve",
        "mcp",
        "ray",
        "inspect",
        "images",
    )
    listed = [*project["project"]["dependencies"], *(r for extra in used for r in extras[extra])]
    groups = project["dependency-groups"]
    return [Requirement(text) for text in [*listed, *groups["dev"], *groups["docs"]]]


def closure() -> set[str]:
    """Return the names of all packages that are needed here, those that others need included."""
    names: set[str] = set()
    waiting = roots()
    seen: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        try:
            needs = distribution(requirement.name).requires or []
        except PackageNotFoundError:
            continue  # a test says which
        names.add(canonicalize_name(requirement.name))
        for need in map(Requirement, needs):
            extras = ["", *requirement.extras]
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(need)
    return names


def licence(name: str) -> str:
    """Return the licence of an installed package."""
    about = distribution(name).metadata
    classified = [
        c.split("::")[-1].strip() for c in about.get_all("Classifier") or [] if c.startswith("License")
    ]
    said = about.get("License-Expression") or " AND ".join(c for c in classified if c != "OSI Approved")
    return said or READ.get(name) or (about.get("License") or "").split("\n")[0][:60]


def parts(expression: str) -> list[str]:
    """Return the licences that an expression names."""
    bare = re.sub(r"\s+WITH\s+\S+|[()]", "", expression)
    bare = re.sub(r"\s*\((?:MPL 2\.0|ISCL)\)", "", bare).replace("MPL 2.0", "").replace("ISCL", "")
    return [part.strip() for part in re.split(r"\s+(?:AND|OR|and|or)\s+", bare) if part.strip()]


def page() -> str:
    """Return the page."""
    rows = [f"| {name} | {licence(name)} |" for name in sorted(closure())]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    wrong = {
        name: licence(name)
        for name in closure()
        if not all(map(COMPATIBLE.match, parts(licence(name)) or ["?"]))
    }
    if wrong:
        sys.exit(f"Not compatible, or not known: {wrong}")
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
