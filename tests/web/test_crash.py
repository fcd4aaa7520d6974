"""A server that is killed, and half-written state: no finished card and no job is lost."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cuecard.web.state import State
from cuecard.web.tables import prepared_folder
from pace import PATIENCE, wait_until
from web.conftest import Client

AUDIT = {"data": {"train": "data/houses_train.csv"}, "only": ["overview"]}


def test_jobs_and_uploads_survive_a_kill_of_the_process_that_writes_them(tmp_path: Path) -> None:
    file = tmp_path / "app.sqlite3"
    script = (
        "import os, signal, sys; from pathlib import Path; from cuecard.web.state import State\n"
        "state = State(Path(sys.argv[1]))\n"
        "for i in range(20): state.add_job('audit', f'job {i}', [], '', Path('out'))\n"
        "state.next_job(); state.add_upload('a.csv', 'b.csv', 3)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(file)], check=False, timeout=PATIENCE)
    assert ended.returncode == -signal.SIGKILL
    state = State(file)
    assert [job.title for job in state.jobs()][::-1] == [f"job {i}" for i in range(20)]
    assert [job.title for job in state.jobs("running")] == ["job 0"]
    with sqlite3.connect(file) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_state_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "app.sqlite3"
    State(file).add_job("audit", "old", [], "", Path("out"))
    with sqlite3.connect(file) as db:
        db.execute("ALTER TABLE jobs DROP COLUMN fingerprint")
    assert [job.fingerprint for job in State(file).jobs()] == [""]


def test_a_server_killed_while_an_audit_runs_loses_no_card_and_runs_it_again(
    root: Path, started: Callable[..., Client]
) -> None:
    before = (root / "cards" / "houses" / "card.json").read_bytes()
    state = State(root / ".cuecard" / "app.sqlite3")
    arguments = ["data/houses_train.csv", "--only", "overview", "--out", str(root / "cards" / "new")]
    job = state.add_job("audit", "Audit", arguments, "", root / "cards" / "new")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "cuecard", "serve", "--root", str(root), "--port", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: state.job(job.id).pid is not None)
    finally:
        os.kill(server.pid, signal.SIGKILL)
        server.wait(PATIENCE)
    assert (root / "cards" / "houses" / "card.json").read_bytes() == before
    client = started(root)  # ends what the killed one left, and takes the job up again
    assert client.ended(job.id)["status"] == "done"
    assert {one["place"] for one in client.get("/cards")["cards"]} == {"cards/houses", "cards/new"}


def test_pages_that_were_half_prepared_are_prepared_again(client: Client, root: Path) -> None:
    [entry] = client.http.app.app.state.service.library.refresh().values()  # type: ignore[attr-defined]
    half = prepared_folder(root, entry.key)
    half.mkdir(parents=True)
    (half / "texts.arrow").write_bytes(b"half")
    card = client.prepared()
    assert client.get(f"/cards/{card}/examples?limit=1")["total"] == 600
