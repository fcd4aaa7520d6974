"""A server of the app, killed while it writes: what it kept is whole, and the next start has all of it."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

from fuzzing.commands import Command
from fuzzing.stopping import Forked, on_step

#: Longest time after which a server is killed that is not killed at a step, in seconds.
LONGEST = 1.0
_ROWS = b"text,label\n" + b"a few words,yes\nother words,no\n" * 400


def killed(folder: Path, forked: Forked, rng: random.Random) -> str:
    """Return how a folder is after a server on it was killed: whole, or what is wrong."""
    at_step, step, seconds = rng.random() < 0.7, rng.randrange(1, 40), rng.uniform(0.01, LONGEST)
    before = (folder / "card" / "card.json").read_bytes()

    def serving() -> None:
        left = step

        def count(_: str) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

        if at_step:
            on_step(folder, count)
        else:  # anywhere, also within the database
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds)
        used(folder)

    code, said = forked(folder, serving, Command([]))
    if code not in (0, -signal.SIGKILL, -signal.SIGALRM):
        return f"step {step}: exit code {code}: {said.strip()[-200:]!r}"
    code, said = forked(folder, lambda: _whole(folder, before), Command([]))
    return "whole" if code == 0 else f"step {step}, {seconds:.2f} s: {said.strip()[-200:]!r}"


def used(folder: Path) -> None:
    """Do in the app what writes: uploads, jobs, cancelling, deleting and taking back, preparing pages."""
    client, send = _client(folder)
    for i in range(3):
        sent = send("POST", f"/uploads?name=rows{i}.csv", content=_ROWS)
        job = send(
            "POST", "/audits", json={"data": {"train": sent["upload"]}, "only": ["overview"], "seed": i}
        )
        send("POST", f"/jobs/{job['id']}/cancel")
        [card] = [one["id"] for one in client.get("/api/cards").json()["cards"] if one["place"] == "card"]
        send("DELETE", f"/cards/{card}")
        send("POST", f"/cards/{card}/undelete")
        client.get(f"/cards/{card}")


def _client(folder: Path) -> tuple[object, Callable[..., dict[str, str]]]:
    from starlette.testclient import TestClient

    from cuecard.web import AppSettings, create_app

    client = TestClient(create_app(AppSettings(root=folder, workers=1)), base_url="http://127.0.0.1:8477")
    client.__enter__()
    token = re.search(r'name="cuecard-page" content="([^"]+)"', client.get("/").text)
    assert token is not None

    def send(method: str, path: str, **options: object) -> dict[str, str]:
        answer = client.request(method, f"/api{path}", headers={"x-cuecard-page": token[1]}, **options)
        assert answer.status_code == 200, (path, answer.text)
        return dict(answer.json())

    return client, send


def _whole(folder: Path, card_before: bytes) -> None:
    """Start the app again and raise if something is lost or half there."""
    client, send = _client(folder)
    own = folder / ".cuecard"
    with sqlite3.connect(own / "app.sqlite3") as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        uploads = [Path(row[0]) for row in db.execute("SELECT file FROM uploads")]
    listed = client.get("/api/cards").json()  # type: ignore[attr-defined]
    if not any(one["place"] == "card" for one in listed["cards"]):
        [gone] = listed["deleted"]
        send("POST", f"/cards/{gone['id']}/undelete")
    assert (folder / "card" / "card.json").read_bytes() == card_before
    assert (folder / "card" / "report.html").is_file()
    assert all((folder / file).read_bytes() == _ROWS for file in uploads), "an upload is half there"
    kept = {file.parent.name for file in uploads}
    left = [one.name for one in (own / "uploads").glob("*") if one.name not in kept]
    assert not left, f"left {left}"
    client.__exit__(None, None, None)  # type: ignore[attr-defined]  # its jobs end before the folder goes
