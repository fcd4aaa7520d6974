"""`cuecard serve`: a folder that is none, and the extra that is missing, are one sentence."""

from __future__ import annotations

import sys

import pytest


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
