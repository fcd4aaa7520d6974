"""Everything that pages ask of the server is in the description of the API, and in its documentation."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from web.conftest import Client

ASKED = re.compile(r"""(?:\b(?:api|run)\((?:\w+, )?[`"]|/api)(/[^`"'?\s]*)""")


def asked_by_pages() -> set[str]:
    """Return the addresses of the API that scripts and templates use, with `x` for what they fill in."""
    web = files("cuecard.web")
    sources = [web.joinpath("static", "app.js"), *web.joinpath("templates").iterdir()]
    text = "".join(one.read_text(encoding="utf-8") for one in sources)
    filled = re.sub(
        r"\$\{[^}]*\}|\{\{[^}]*\}\}", "x", text.replace("${location.search}", "").replace("/api${path}", "")
    )
    return {match[1] for match in ASKED.finditer(filled)}


def test_pages_use_nothing_but_the_described_api(client: Client) -> None:
    paths = client.get("/openapi.json")["paths"]
    for methods in paths.values():
        for operation in methods.values():
            assert operation.get("description"), operation
    routes = [re.sub(r"\{[^}]+\}", "[^/]+", path) for path in paths]
    asked = asked_by_pages()
    assert {"/cards/x/probes", "/cards/x/weights", "/jobs/x/events", "/jobs/x/file", "/uploads"} <= asked
    assert [path for path in asked if not any(re.fullmatch(route, f"/api{path}") for route in routes)] == []


def test_the_documentation_names_every_address_of_the_api(client: Client) -> None:
    page = (Path(__file__).parents[2] / "docs" / "app.md").read_text(encoding="utf-8")
    table = "".join(line for line in page.splitlines() if line.startswith(("| `GET", "| `POST", "| `DELETE")))
    documented = {re.split(r"[?`]", path)[0] for path in re.findall(r"/api/[^ `,|]+", table)}
    routes = {re.sub(r"\{[^}]+\}", "[^/]+", path) for path in client.get("/openapi.json")["paths"]}
    assert [one for one in documented if not any(re.fullmatch(route, one) for route in routes)] == []
    assert [one for one in routes if not any(re.fullmatch(one, path) for path in documented)] == []
