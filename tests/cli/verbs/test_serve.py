"""`cuecard serve`: a folder that is none, and the extra that is missing, are one sentence."""

from __future__ import annotations

import sys


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
