"""Progress of functions: a line about every step that takes long, where the user wants one."""

from __future__ import annotations

import time

import pytest

import cuecard as cc
from cuecard.data.demo import demo_nli
from cuecard.run import running
from cuecard.run.running import line_of_long_step, shown_progress


def test_a_step_that_takes_long_has_a_line_and_a_quick_one_none(monkeypatch, capsys):
    monkeypatch.setattr(running, "PATIENCE", 0.05)
    with line_of_long_step("Clusters"):
        time.sleep(0.2)
    assert capsys.readouterr().err == "Clusters …\n"
    monkeypatch.setattr(running, "PATIENCE", 60.0)
    with line_of_long_step("Cues"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("wanted", [None, False])
def test_nothing_is_shown_unless_the_user_asks(wanted):
    assert shown_progress(wanted) is None


def test_an_audit_with_progress_names_its_steps(monkeypatch, capsys):
    monkeypatch.setattr(running, "PATIENCE", 0.0)
    data = demo_nli(200, seed=1).instances
    cc.audit(data, only=["overview", "cues"], progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert {line.partition(": ")[2] for line in lines} <= {"Overview …", "Cues …"}
    assert lines
    cc.debias(data, min_count=20, progress=True)
    assert capsys.readouterr().err
