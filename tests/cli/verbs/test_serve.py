"""`cuecard serve`: a folder that is none, and the extra that is missing, are one sentence."""

from __future__ import annotations

import socket
import sys

import pytest

from pace import wait_until


def test_a_root_that_is_no_folder_is_refused(cuecard, tmp_path):
    ran = cuecard("serve", "--root", str(tmp_path / "nothing"))
    assert ran.code == 2
    assert "is not a folder" in ran.err


def test_without_the_extra_the_line_to_install_it_is_printed(cuecard, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ran = cuecard("serve", "--root", str(tmp_path))
    assert ran.code == 2
    assert "pip install 'cuecard[serve]'" in ran.err


def test_a_port_outside_the_range_is_refused(cuecard):
    assert cuecard("serve", "--port", "0").code == 2


@pytest.mark.parametrize(
    ("options", "host", "token"), [([], "127.0.0.1", False), (["--host", "192.0.2.7"], "192.0.2.7", True)]
)
def test_only_this_machine_needs_no_token_and_requests_are_not_logged(
    cuecard, monkeypatch, tmp_path, options, host, token
):
    uvicorn = pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    started = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **settings: started.update(settings))
    monkeypatch.setattr("cuecard.web.forms.all_forms", dict)
    ran = cuecard("serve", "--root", str(tmp_path), *options)
    assert ran.code == 0
    assert started["host"] == host
    assert not started["access_log"]
    assert ("/enter?token=" in ran.out) == token


def test_a_port_that_another_program_uses_is_a_sentence(cuecard, tmp_path):
    pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = cuecard("serve", "--root", str(tmp_path), "--port", str(taken.getsockname()[1]))
    assert ran.code == 2
    assert "choose another with --port" in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--endpoint", "http://user:hunter2@127.0.0.1/v1"], "contains a user, a password"),
        (["--endpoint", "file:///etc/passwd"], "not a valid address"),
        (["--key-variable", "not a name"], "name of an environment variable"),
    ],
)
def test_what_may_be_asked_is_checked_before_the_start(cuecard, tmp_path, options, said):
    pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    ran = cuecard("serve", "--root", str(tmp_path), *options)
    assert ran.code == 2
    assert said in ran.err
    assert "hunter2" not in ran.err


def test_the_app_opens_in_a_browser(cuecard, monkeypatch, tmp_path):
    uvicorn = pytest.importorskip("uvicorn", reason="the extra `serve` is not installed")
    opened = []
    monkeypatch.setattr("cuecard.web.forms.all_forms", dict)
    monkeypatch.setattr("cuecard.cli.verbs.servers.typer.launch", opened.append)
    monkeypatch.setattr(uvicorn, "run", lambda *_, **__: wait_until(lambda: bool(opened)))
    assert cuecard("serve", "--root", str(tmp_path), "--open").code == 0
    assert opened == ["http://127.0.0.1:8477/"]
