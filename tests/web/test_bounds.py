"""Whatever dies, fills up or jumps: every request has an answer, processes are few, and no job runs for ever."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cuecard.web import AppSettings
from cuecard.web import service as services
from cuecard.web.requests.bodies import DataBody
from cuecard.web.service import Service
from cuecard.web.state import State
from pace import wait_until
from web.conftest import Client

AUDIT = {"data": {"train": "data/houses_train.csv"}, "only": ["overview"]}


def test_thirty_previews_at_once_are_answered_by_few_processes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0
    usual = Service._previewed

    async def counted(self: Service, request: bytes) -> bytes:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await usual(self, request)
        finally:
            running -= 1

    quick = 'import sys; sys.stdin.read(); print(\'{"columns": ["a"], "rows": []}\')'
    (root / "look.py").write_text(quick)
    monkeypatch.setattr(Service, "_previewed", counted)
    monkeypatch.setattr(services, "PYTHON", (sys.executable, str(root / "look.py")))

    async def all_at_once() -> list[dict[str, object]]:
        service = Service(AppSettings(root))
        return await asyncio.gather(
            *(service.preview(DataBody(train="data/houses_train.csv")) for _ in range(30))
        )

    answers = asyncio.run(all_at_once())
    assert [one["columns"] for one in answers] == [["a"]] * 30
    assert most == services.PREVIEWS


@pytest.mark.parametrize(
    "script", ["import os; os.kill(os.getpid(), 9)", "raise SystemExit(3)", "print('no JSON')"]
)
def test_a_preview_whose_process_dies_is_a_sentence(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    (root / "dies.py").write_text(script)
    monkeypatch.setattr(services, "PYTHON", (sys.executable, str(root / "dies.py")))
    answer = client.send("POST", "/preview", json={"train": "data/houses_train.csv"})
    assert answer.status_code == 422
    assert "damaged" in answer.json()["problem"]


def test_a_preview_that_cannot_start_is_a_sentence(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "PYTHON", ("/nowhere/python",))
    answer = client.send("POST", "/preview", json={"train": "data/houses_train.csv"})
    assert answer.status_code == 422
    assert "cannot be previewed now" in answer.json()["problem"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("/nowhere/python",), "cannot be started"),
        ((sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"), "was killed"),
        ((sys.executable, "-c", "raise SystemExit(3)"), "exit code 3"),
    ],
)
def test_a_worker_that_dies_at_its_start_is_a_failed_job(
    client: Client, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], reason: str
) -> None:
    monkeypatch.setattr("cuecard.web.jobs.PYTHON", words)
    ended = client.ended(client.send("POST", "/audits", json=AUDIT).json()["id"])
    assert ended["status"] == "failed"
    assert reason in ended["reason"]


def test_a_job_whose_end_the_database_does_not_take_ends_later(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, failures = State.end_job, [sqlite3.OperationalError("database or disk is full")] * 3

    def full(self: State, *arguments: str) -> bool:
        if failures:
            raise failures.pop()
        return usual(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(State, "end_job", full)
    ended = client.ended(client.send("POST", "/audits", json=AUDIT).json()["id"])
    assert ended["status"] == "failed"
    after = client.send("POST", "/audits", json=AUDIT | {"seed": 1}).json()
    assert client.ended(after["id"])["status"] == "done"


def test_the_queue_survives_a_database_that_cannot_be_read_for_a_while(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, failures = State.next_job, [sqlite3.OperationalError("disk I/O error")] * 3

    def broken(self: State) -> object:
        if failures:
            raise failures.pop()
        return usual(self)

    monkeypatch.setattr(State, "next_job", broken)
    assert client.ended(client.send("POST", "/audits", json=AUDIT).json()["id"])["status"] == "done"


def test_jobs_keep_their_order_and_end_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = State(tmp_path / "app.sqlite3")
    clock = iter([1e9, 2e9, 5e8, 1.0, *[0.0] * 20])
    monkeypatch.setattr(time, "time", lambda: next(clock))
    names = [f"job {i}" for i in range(3)]
    for name in names:
        state.add_job("audit", name, [], "", Path("out"), "same")
    assert [job.title for job in state.jobs()] == names[::-1]
    newest = state.same_job("same")
    assert newest is not None
    assert newest.title == "job 2"
    taken = [state.next_job() for _ in names]
    assert [job.title for job in taken if job is not None] == names
    assert all(state.end_job(job.id, "done") for job in taken if job is not None)


def test_a_job_that_never_ends_is_ended_at_the_limit(
    root: Path, started: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = started(root, job_seconds=1.0)
    monkeypatch.setattr("cuecard.web.jobs.PYTHON", (sys.executable, "-c", "import time; time.sleep(3600)"))
    job = client.send("POST", "/audits", json=AUDIT).json()
    ended = client.ended(job["id"])
    assert ended["status"] == "failed"
    assert "longer than the limit" in ended["reason"]


def test_errors_name_uploads_as_the_user_does(client: Client) -> None:
    upload = client.send("POST", "/uploads?name=My pairs.csv", content=b"a,b\n1,2\n").json()["upload"]
    seen = client.send("POST", "/preview", json={"train": upload}).json()
    ended = client.ended(client.send("POST", "/audits", json={"data": {"train": upload}}).json()["id"])
    assert "My pairs.csv" in ended["reason"]
    for said in (seen["problem"], ended["reason"]):
        assert "not recognised" in said
        assert "data.csv" not in said
        assert "--columns" not in said


def test_many_audits_at_once_are_queued_up_to_a_limit(root: Path, started: Callable[..., Client]) -> None:
    client = started(root, queued_jobs=5)

    def queue(seed: int) -> int:
        return int(client.send("POST", "/audits", json=AUDIT | {"seed": seed}).status_code)

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(queue, range(24)))
    assert set(codes) == {200, 422}
    service = client.http.app.app.state.service  # type: ignore[attr-defined]
    assert len(service.state.jobs("running")) <= 1
    for job in service.state.jobs("queued", "running"):
        client.send("POST", f"/jobs/{job.id}/cancel")
    wait_until(lambda: not service.state.jobs("queued", "running"))
