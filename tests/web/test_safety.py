"""Who may talk to the app, and what its answers allow a browser to do."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from cuecard.web import AppSettings, create_app
from cuecard.web.library import Library
from web.conftest import ADDRESS, Client


def test_another_host_name_is_refused_so_that_rebinding_reaches_nothing(client: Client) -> None:
    for host in ("evil.example:8477", "127.0.0.1", "127.0.0.1:80", "localhost:9999"):
        assert client.http.get("/api/cards", headers={"host": host}).status_code == 403
    assert client.http.get("/api/cards", headers={"host": "localhost:8477"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://["},
    ],
)
def test_requests_of_other_sites_are_refused(client: Client, headers: dict[str, str]) -> None:
    assert client.http.get("/api/cards", headers=headers).status_code == 403


def test_a_link_from_another_site_may_open_a_page_but_not_the_api_in_a_frame(client: Client) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.http.get("/", headers=link).status_code == 200
    assert client.http.get("/", headers=link | {"sec-fetch-dest": "iframe"}).status_code == 403


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_request_that_writes_needs_the_token_of_the_page(client: Client, token: str) -> None:
    answer = client.http.delete(f"/api/cards/{client.card}", headers={"x-cuecard-page": token})
    assert answer.status_code == 403
    assert len(client.get("/cards")["cards"]) == 1


def test_pages_allow_no_inline_script_and_no_frame(client: Client) -> None:
    headers = client.http.get("/").headers
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_a_report_runs_apart_from_the_app(client: Client) -> None:
    policy = client.http.get(f"/cards/{client.card}/report").headers["content-security-policy"]
    assert policy.startswith("sandbox ")
    assert "allow-same-origin" not in policy


def test_outside_this_machine_the_token_is_exchanged_once_for_a_cookie(root: Path) -> None:
    settings = AppSettings(root=root, host="192.0.2.7", token="secret")
    with TestClient(create_app(settings), base_url="http://192.0.2.7:8477", follow_redirects=False) as http:
        assert http.get("/").status_code == 403
        assert http.get("/enter?token=wrong").status_code == 403
        entered = http.get("/enter?token=secret")
        assert entered.status_code == 303
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert "secret" not in cookie
        assert http.get("/").status_code == 200
        http.cookies.clear()
        assert http.get("/enter?token=secret").status_code == 403


def test_log_lines_hold_no_content_of_the_user(
    client: Client, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    canary = "canary-of-the-user"
    client.http.get(f"/api/cards?search={canary}")
    client.http.get(f"/api/cards/{canary}", headers={"user-agent": canary, "referer": canary})
    client.http.get("/", headers={"host": canary})
    client.send("POST", f"/uploads?name={canary}.csv", content=f"text,label\n{canary},a\n".encode())
    client.send("POST", f"/uploads?name={canary}.zip", content=canary.encode())
    client.send("POST", "/audits", content=f'{{"{canary}": '.encode())
    client.send("POST", "/audits", json={"data": {"train": canary}})

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(canary)

    monkeypatch.setattr(Library, "search", broken)
    answer = client.http.get(f"/api/cards?search={canary}")
    assert answer.status_code == 500
    assert canary not in answer.text
    assert "RuntimeError at " in caplog.text  # what went wrong, and where, is said
    of_server = [one.getMessage() for one in caplog.records if not one.name.startswith(("httpx", "httpcore"))]
    assert not [line for line in of_server if canary in line]
    assert canary not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("name", "content", "limits", "said"),
    [
        ("a.csv", b"PK\x03\x04 an archive", {}, "archive or a pickle"),
        ("a.jsonl", b"\x80\x04\x95 a pickle", {}, "archive or a pickle"),
        ("a.csv", b"text,label\n" + b"a,b\n" * 20, {"upload_rows": 10}, "more rows"),
        ("a.csv", b"text,label\na,b\n", {"upload_seconds": -1.0}, "took longer"),
        ("a.csv", b"x" * 200, {"upload_bytes": 100}, "larger"),
        ("a.parquet", b"no parquet file", {}, "not a Parquet file"),
        ("a.npz", b"text", {}, "are read, not"),
    ],
)
def test_an_upload_beyond_a_limit_is_refused_and_removed(
    root: Path, started: Callable[..., Client], name: str, content: bytes, limits: dict[str, Any], said: str
) -> None:
    client = started(root, **limits)
    answer = client.send("POST", f"/uploads?name={name}", content=content)
    assert answer.status_code == 422
    assert said in answer.json()["problem"]
    assert list((root / ".cuecard" / "uploads").rglob("*.*")) == []


@pytest.mark.parametrize(
    "name", ["../../escape.csv", "/etc/cron.d/x.csv", "..\\..\\x.csv", "a\x00b.csv", "%2e%2e%2fx.csv"]
)
def test_the_name_of_an_upload_never_becomes_a_path(client: Client, root: Path, name: str) -> None:
    before = {path for path in root.parent.rglob("*") if ".cuecard" not in path.parts}
    answer = client.http.request(
        "POST", "/api/uploads", params={"name": name}, content=b"text,label\na,b\n",
        headers={"x-cuecard-page": client.token},
    )  # fmt: skip
    assert answer.status_code == 200
    assert {path for path in root.parent.rglob("*") if ".cuecard" not in path.parts} == before
    [file] = (root / ".cuecard" / "uploads").rglob("*.csv")
    assert file.name == "data.csv"


def test_what_a_killed_server_left_half_written_is_removed_at_the_next_start(
    root: Path, started: Callable[..., Client]
) -> None:
    half, staging = root / ".cuecard" / "uploads" / "half", root / ".cuecard" / "prepared" / ".preparing-x"
    for folder in (half, staging):
        folder.mkdir(parents=True)
        (folder / "data.csv").write_text("half")
    client = started(root)
    client.send("POST", "/uploads?name=a.csv", content=b"text,label\na,b\n")
    assert not half.exists()
    assert not staging.exists()
    assert len(list((root / ".cuecard" / "uploads").rglob("*.csv"))) == 1


ENDPOINT = "http://127.0.0.1:9/v1"


def stored_bytes(root: Path) -> bytes:
    """Return everything that the app keeps."""
    return b"".join(file.read_bytes() for file in (root / ".cuecard").rglob("*") if file.is_file())


def test_the_key_of_an_endpoint_is_neither_taken_nor_stored_nor_shown(
    root: Path, started: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    client = started(root, endpoints=(ENDPOINT,))
    body = {"endpoint": ENDPOINT, "model": "m", "key_variable": "MY_KEY", "sample": 1}
    refused = client.send("POST", f"/cards/{client.card}/questions", json=body | {"key": "sk-very-secret"})
    assert refused.status_code == 422
    assert "sk-very-secret" not in refused.text
    job = client.send("POST", f"/cards/{client.card}/questions", json=body).json()
    client.send("POST", f"/jobs/{job['id']}/cancel")
    assert "MY_KEY" in job["command"]
    assert "sk-very-secret" not in client.http.get("/api/jobs").text
    assert b"sk-very-secret" not in stored_bytes(root)


def test_only_endpoints_and_variables_that_the_server_was_started_with_are_used(
    root: Path, started: Callable[..., Client]
) -> None:
    client = started(root, endpoints=(ENDPOINT,))
    body = {"endpoint": ENDPOINT, "model": "m", "sample": 1}
    for other in ("http://127.0.0.1:10/v1", "http://169.254.169.254/latest", ENDPOINT + "/../admin", ""):
        answer = client.send("POST", f"/cards/{client.card}/questions", json=body | {"endpoint": other})
        assert answer.status_code == 422
        assert "serve --endpoint" in answer.json()["problem"]
    for variable in ("AWS_SECRET_ACCESS_KEY", "HOME", "OPENAI_API_KEY"):
        answer = client.send(
            "POST", f"/cards/{client.card}/questions", json=body | {"key_variable": variable}
        )
        assert answer.status_code == 422
        assert "serve --key-variable" in answer.json()["problem"]
    assert client.get("/jobs")["jobs"] == []


@pytest.mark.parametrize(
    "address",
    ["http://user:hunter2@127.0.0.1:9/v1", "https://hunter2@host/v1", "s3://k:hunter2@bucket/a.csv"],
)
def test_an_address_with_a_password_is_neither_stored_nor_repeated(
    root: Path, started: Callable[..., Client], address: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = started(root, endpoints=(ENDPOINT,))
    card = f"/cards/{client.card}"
    for path, body in (
        (f"{card}/questions", {"endpoint": address, "model": "m"}),
        (f"{card}/questions", {"endpoint": ENDPOINT, "model": address}),
        (f"{card}/questions", {"endpoint": ENDPOINT, "model": "m", "prompts": [address]}),
        ("/audits", {"data": {"train": address}}),
        ("/audits", {"data": {"train": "data/houses_train.csv"}, "settings": {"clusters.embed": address}}),
        ("/audits", {"data": {"train": "data/houses_train.csv"}, "settings": {address: "1"}}),
        ("/audits", {"data": {"train": "data/houses_train.csv"}, "name": address}),
        (f"{card}/plans", {"goals": [address]}),
        ("/preview", {"train": address}),
    ):
        answer = client.send("POST", path, json=body)
        assert answer.status_code == 422, (path, body)
        assert "hunter2" not in answer.text
    assert b"hunter2" not in stored_bytes(root)
    assert "hunter2" not in caplog.text


def test_control_characters_are_refused_in_every_field(client: Client) -> None:
    for character in ("\0", "\x01", "\x1b", "\n", "\x7f", "\ud800"):
        _check_refused(client, f"a{character}b", f"/cards/{client.card}")
    assert client.get("/jobs")["jobs"] == []


def _check_refused(client: Client, text: str, card: str) -> None:
    headers = {"x-cuecard-page": client.token, "content-type": "application/json"}
    for path, body in (
        ("/audits", {"data": {"train": text}}),
        ("/audits", {"data": {"train": "data/houses_train.csv", "columns": text}}),
        ("/audits", {"data": {"train": "data/houses_train.csv"}, "name": text}),
        ("/audits", {"data": {"train": "data/houses_train.csv"}, "settings": {"cues.tokens": text}}),
        ("/audits", {"data": {"train": "data/houses_train.csv"}, "settings": {text: "1"}}),
        ("/preview", {"train": text}),
        (f"{card}/probes", {"models": [text]}),
        (f"{card}/probes", {"models": ["linear"], "cues": [text]}),
        (f"{card}/remedies", {"method": text}),
        (f"{card}/plans", {"goals": [text]}),
        (f"{card}/questions", {"endpoint": text, "model": "m"}),
    ):
        answer = client.http.post(f"/api{path}", content=json.dumps(body), headers=headers)
        assert answer.status_code == 422, (path, body)
        assert "control characters" in answer.json()["problem"]


def test_control_characters_in_an_address_are_answered(client: Client) -> None:
    card = client.prepared()
    for character in ("%00", "%01", "%1b", "%0a", "%7f", "%ff", "%ed%a0%80"):
        for path in (
            f"/api/cards?search={character}", f"/api/cards/{card}/tables/cues?search={character}",
            f"/api/cards/{card}/tables/cues?where=feature:=:{character}", f"/api/cards/{card}/cues/word/{character}",
            f"/api/cards/{card}/examples?family=word&feature={character}", f"/api/cards/{character}",
            f"/cards/{card}/cue?family=word&feature={character}", f"/jobs/{character}", f"/compare?card={character}",
            f"/api/cards/{card}/charts/{character}", f"/cards/{card}/table/{character}",
        ):  # fmt: skip
            assert client.http.get(path).status_code < 500, path


def test_no_page_has_an_inline_script_style_or_handler(client: Client) -> None:
    card = client.prepared()
    of_card = ("cues", "cue?family=word&feature=nobody", "examples", "models", "remedies", "table/cues")
    paths = ["/", "/new", "/jobs", f"/compare?card={card}&card={card}", f"/cards/{card}"]
    for path in [*paths, *(f"/cards/{card}/{page}" for page in of_card)]:
        text = client.http.get(path).text
        assert "<style" not in text
        assert not re.findall(r"<script(?![^>]* src=)", text)
        assert not re.findall(r"<[^>]*\son\w+=", re.sub(r'"[^"]*"', '""', text))
        assert "javascript:" not in text


def test_errors_do_not_tell_where_the_folder_lies(client: Client, root: Path) -> None:
    body = {"data": {"train": "../outside.csv"}}
    answer = client.send("POST", "/audits", json=body)
    assert answer.status_code == 422
    assert str(root) not in answer.text
    assert client.http.base_url == ADDRESS


def test_a_body_beyond_the_limit_is_refused_before_a_route_sees_it(
    root: Path, started: Callable[..., Client]
) -> None:
    client = started(root, body_bytes=1_000)
    assert client.send("POST", "/compare", json={"cards": ["x" * 2_000]}).status_code == 413
    assert (
        client.send("POST", "/uploads?name=a.csv", content=b"text,label\n" + b"a,b\n" * 500).status_code
        == 200
    )
