"""Jobs: uploads, previews, audits, probes and remedies; cancel, failure, a stop of the server."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cuecard.errors import UsageError
from cuecard.web import AppSettings
from cuecard.web.requests.bodies import AuditBody, DataBody, DebiasBody, ProbeBody
from cuecard.web.service import Service
from cuecard.web.state import Limits
from pace import wait_until
from web.conftest import Client, pairs

AUDIT = {"data": {"train": "data/houses_train.csv", "test": "data/houses_test.csv"}, "only": ["overview"]}


def test_an_uploaded_file_is_previewed_audited_and_opens(
    client: Client, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A file beside the data that is called as a library is data, too: nothing runs it.
    (root / "polars.py").write_text("raise RuntimeError")
    monkeypatch.chdir(root)
    upload = client.send(
        "POST", "/uploads?name=../My pairs.csv", content=pairs(60).write_csv().encode()
    ).json()
    assert upload["name"] == "My pairs.csv"
    seen = client.send("POST", "/preview", json={"train": upload["upload"]}).json()
    assert seen["recognised"] == {"premise": "premise", "hypothesis": "hypothesis", "label": "label"}
    assert len(seen["rows"]) == 6
    job = client.send(
        "POST", "/audits", json={"data": {"train": upload["upload"]}, "only": ["overview"]}
    ).json()
    ended = client.ended(job["id"])
    assert ended["status"] == "done", ended
    assert "Preparing the pages" in ended["steps"]
    assert ended["command"].startswith("cuecard audit ")
    opened = client.get(f"/cards/{ended['card']}")
    assert opened["prepared"]
    assert opened["card"]["name"] == "My-pairs"
    assert opened["page"]["index"]["texts"]


def test_columns_that_are_not_recognised_are_said_and_corrected(client: Client, root: Path) -> None:
    pairs(60).rename({"premise": "one", "hypothesis": "two", "label": "three"}).write_csv(root / "odd.csv")
    seen = client.send("POST", "/preview", json={"train": "odd.csv"}).json()
    assert "not recognised" in seen["problem"]
    assert str(root) not in seen["problem"]
    columns = "premise=one,hypothesis=two,label=three"
    seen = client.send("POST", "/preview", json={"train": "odd.csv", "columns": columns}).json()
    assert seen["problem"] == ""
    assert seen["task"] == "pair"


def test_a_probe_of_a_model_and_a_remedy_start_from_a_card(client: Client) -> None:
    probe = client.send("POST", f"/cards/{client.card}/probes", json={"models": ["linear"]}).json()
    remedy = client.send(
        "POST", f"/cards/{client.card}/remedies", json={"settings": {"lexical.min_count": "20"}}
    ).json()
    probed, weighted = client.ended(probe["id"]), client.ended(remedy["id"])
    assert probed["status"] == "done", probed
    assert weighted["status"] == "done", weighted
    assert client.get(f"/cards/{probed['card']}")["card"]["about"] == "models"
    _check_filter_by_model(client, probed["card"])
    rows = client.http.get(f"/api/cards/{weighted['card']}/weights")
    assert "weight" in rows.text.splitlines()[0]


def _check_filter_by_model(client: Client, probed: str) -> None:
    """Examples are filtered by a model's answers on its own card and on that of the dataset, with other filters."""
    for card in (probed, client.prepared()):
        assert "linear: wrong" in client.http.get(f"/cards/{card}/examples").text
        total = 0
        for value, verdict in (("1", True), ("0", False)):
            page = client.get(
                f"/cards/{card}/examples?where=right linear:=:{value}&where=label:=:no&limit=200"
            )
            assert page["total"] > 0
            assert {row["split"] for row in page["rows"]} == {"test"}
            assert {row["prediction linear"] == "no" for row in page["rows"]} == {verdict}
            total += page["total"]
        assert total == client.get(f"/cards/{card}/examples?where=split:=:test&where=label:=:no")["total"]
    cue = client.get(f"/cards/{client.card}/examples?family=word&feature=somebody&where=right linear:=:0")
    assert 0 < cue["total"] < cue["listed"]
    unknown = client.http.get(f"/api/cards/{client.card}/examples?where=right nobody:=:0")
    assert unknown.status_code == 422


def test_a_job_that_fails_says_why_and_the_next_one_runs(client: Client, root: Path) -> None:
    (root / "bad.csv").write_text("a,b\n1,2\n")
    failed = client.send("POST", "/audits", json={"data": {"train": "bad.csv"}}).json()
    after = client.send("POST", "/audits", json=AUDIT).json()
    failed = client.ended(failed["id"])
    assert failed["status"] == "failed"
    assert "not recognised" in failed["reason"]
    assert not (root / "cards" / "bad").exists()
    assert client.ended(after["id"])["status"] == "done"


def test_a_killed_worker_is_a_failed_job_and_the_next_one_runs(client: Client) -> None:
    service = client.http.app.app.state.service  # type: ignore[attr-defined]
    first = client.send("POST", "/audits", json=AUDIT).json()
    after = client.send("POST", "/audits", json=AUDIT | {"seed": 1}).json()
    wait_until(lambda: service.state.job(first["id"]).pid is not None)
    pid = service.state.job(first["id"]).pid
    assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)  # pages come first
    os.killpg(pid, signal.SIGKILL)
    ended = client.ended(first["id"])
    assert ended["status"] == "failed"
    assert "killed" in ended["reason"]
    assert client.ended(after["id"])["status"] == "done"


def test_a_cancelled_job_ends_its_process_and_writes_no_card(client: Client, root: Path) -> None:
    service = client.http.app.app.state.service  # type: ignore[attr-defined]
    job = client.send("POST", "/audits", json=AUDIT).json()
    wait_until(lambda: service.state.job(job["id"]).pid is not None)
    pid = service.state.job(job["id"]).pid
    assert client.send("POST", f"/jobs/{job['id']}/cancel").json()["status"] == "cancelled"
    wait_until(lambda: not Path(f"/proc/{pid}").exists())
    assert [one["place"] for one in client.get("/cards")["cards"]] == ["cards/houses"]


def test_a_job_that_the_end_of_the_server_interrupted_runs_again(
    root: Path, started: Callable[..., Client]
) -> None:
    first = started(root)
    job = first.send("POST", "/audits", json=AUDIT).json()
    service = first.http.app.app.state.service  # type: ignore[attr-defined]
    wait_until(lambda: service.state.job(job["id"]).pid is not None)
    first.http.__exit__(None, None, None)
    second = started(root)
    assert second.ended(job["id"])["status"] == "done"
    first.http.__enter__()


def test_the_same_work_is_one_job_until_its_files_change(client: Client, root: Path) -> None:
    first = client.send("POST", "/audits", json=AUDIT).json()
    again = client.send("POST", "/audits", json=AUDIT).json()
    assert again["id"] == first["id"]
    assert client.ended(first["id"])["status"] == "done"
    assert client.send("POST", "/audits", json=AUDIT).json()["status"] == "done"
    assert client.send("POST", "/audits", json=AUDIT | {"seed": 1}).json()["id"] != first["id"]
    pairs(300).write_csv(root / "data" / "houses_train.csv")
    assert client.send("POST", "/audits", json=AUDIT).json()["id"] != first["id"]


def test_a_plan_writes_a_worksheet_and_says_what_it_changes(client: Client) -> None:
    body = {"goals": ["cues.cues == 0"], "budget": 20}
    job = client.send("POST", f"/cards/{client.card}/plans", json=body).json()
    ended = client.ended(job["id"])
    assert ended["status"] == "done", ended
    assert ended["command"].startswith("cuecard plan data/houses_train.csv ")
    assert "--json" not in ended["command"]
    plan = ended["plan"]
    assert [goal["measure"] for goal in plan["goals"]] == ["cues.cues"]
    assert any("nobody" in one["why"] for one in plan["why"])
    assert {row["label"] for row in plan["rows"]} <= {"no", "yes"}
    rows = pl.read_csv(client.http.get(f"/api/jobs/{job['id']}/file").content)
    assert 1 <= rows.height <= 20
    assert rows.height == plan["changed"]
    assert set(rows["action"]) == {"drop"}
    assert [one["id"] for one in client.get(f"/cards/{client.card}/plans")["plans"]] == [job["id"]]
    assert client.http.get("/api/jobs/nothing/file").status_code == 404


def test_uploads_have_limits_and_leave_nothing_behind(root: Path, started: Callable[..., Client]) -> None:
    client = started(root, upload_bytes=100)
    for name, content in (
        ("a.csv", b"x" * 101),
        ("a.csv", b""),
        ("a.zip", b"PK"),
        ("a.pkl", b"x"),
        ("csv", b"x"),
    ):
        answer = client.send("POST", f"/uploads?name={name}", content=content)
        assert answer.status_code == 422, name
    assert (
        not list((root / ".cuecard" / "uploads").glob("*"))
        if (root / ".cuecard" / "uploads").exists()
        else True
    )


def test_files_outside_the_root_are_not_read(client: Client, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("text,label\nkey,a\n")
    for path in (
        "../secret.csv",
        str(tmp_path / "secret.csv"),
        ".cuecard/app.sqlite3",
        "upload:../../secret.csv",
    ):
        for verb, body in (("preview", {"train": path}), ("audits", {"data": {"train": path}})):
            assert client.send("POST", f"/{verb}", json=body).status_code == 422


def test_bodies_with_unknown_fields_are_refused(client: Client) -> None:
    answer = client.send("POST", "/audits", json={**AUDIT, "command": "rm"})
    assert answer.status_code == 422
    assert "command" in answer.json()["problem"]


def test_a_full_queue_takes_no_job_of_any_verb(root: Path) -> None:
    service = Service(AppSettings(root, limits=Limits(queued_jobs=0)))
    [entry] = service.library.refresh().values()
    data = DataBody(train="data/houses_train.csv")
    for queue in (
        lambda: service.audit(AuditBody(data=data)),
        lambda: service.probe(entry, ProbeBody(models=["linear"])),
        lambda: service.debias(entry, DebiasBody()),
    ):
        with pytest.raises(UsageError, match="The queue is full"):
            queue()
    assert service.state.jobs("queued") == []


def test_new_predictions_under_an_old_name_are_probed_again(root: Path) -> None:
    service = Service(AppSettings(root))
    [entry] = service.library.refresh().values()
    file = root / "predictions=1.csv"
    file.write_text("id,prediction\n1,yes\n")
    probe = ProbeBody(predictions=[file.name])
    first = service.probe(entry, probe)
    assert service.probe(entry, probe).id == first.id
    file.write_text("id,prediction\n1,no\n")
    assert service.probe(entry, probe).id != first.id


def test_a_folder_in_which_a_file_has_changed_is_audited_again(root: Path) -> None:
    service = Service(AppSettings(root))
    body = AuditBody(data=DataBody(train="data"))
    first = service.audit(body)
    assert service.audit(body).id == first.id
    pairs(300).write_csv(root / "data" / "houses_test.csv")
    assert service.audit(body).id != first.id
