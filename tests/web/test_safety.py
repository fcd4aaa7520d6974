"""Who may talk to the app, and what its answers allow a browser to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from cuecard.web import AppSettings, create_app
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


def test_errors_do_not_tell_where_the_folder_lies(client: Client, root: Path) -> None:
    body = {"data": {"train": "../outside.csv"}}
    answer = client.send("POST", "/audits", json=body)
    assert answer.status_code == 422
    assert str(root) not in answer.text
    assert client.http.base_url == ADDRESS
