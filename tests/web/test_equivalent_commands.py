"""Every page says what to type for the same; the command line really takes it."""

from __future__ import annotations

import html
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.main import get_command

from cuecard.cli.main import app
from web.conftest import Client
from web.test_jobs import AUDIT


def parsed(command: str) -> str:
    """Return the verb of a command that the command line can read; its own error otherwise."""
    program, verb, *words = shlex.split(command)
    assert program == "cuecard"
    command_line = get_command(app)
    command_line.commands[verb].make_context(verb, words, parent=command_line.context_class(command_line))  # type: ignore[attr-defined]
    return verb


def commands_on(page: str) -> list[str]:
    """Return the commands that a page shows."""
    return [html.unescape(code) for code in re.findall(r"<code[^>]*>(cuecard .+?)</code>", page)]


def test_every_page_shows_a_command_that_the_command_line_reads(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    shutil.copytree(root / "cards" / "houses", root / "cards" / "again")
    card = client.prepared()
    ids = [one["id"] for one in client.get("/cards")["cards"]]
    job = client.send("POST", "/audits", json=AUDIT | {"settings": {"overview.near": "true"}}).json()
    client.send("POST", f"/jobs/{job['id']}/cancel")
    verbs = {
        "/": "board",
        f"/compare?card={ids[0]}&card={ids[1]}": "compare",
        f"/jobs/{job['id']}": "audit",
        "/jobs": "audit",
        f"/cards/{card}": "audit",
        f"/cards/{card}/cues": "audit",
        f"/cards/{card}/cue?family=word&feature=nobody": "explain",
        f"/cards/{card}/examples": "audit",
        f"/cards/{card}/models": "probe",
        f"/cards/{card}/remedies": "debias",
        f"/cards/{card}/table/cues": "audit",
    }
    [prepares] = re.findall(
        r'data-job="(\w+)"', client.http.get(f"/compare?card={ids[0]}&card={ids[1]}").text
    )
    assert client.ended(prepares)["status"] == "done"
    shown = {path: [parsed(one) for one in commands_on(client.http.get(path).text)] for path in verbs}
    assert {path: each[-1] for path, each in shown.items()} == verbs
    preview = client.send("POST", "/preview", json=AUDIT["data"]).json()
    assert parsed(preview["command"]) == "audit"  # what the page of a new audit shows
