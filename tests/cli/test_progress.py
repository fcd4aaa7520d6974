from __future__ import annotations

import pytest
from rich.console import Console

from cuecard.cli.progress import stage, training_bar
from cuecard.models import Step


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Make standard error look like a terminal of 80 columns; return what was written to it."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(Console, "is_terminal", True)
    return lambda: capsys.readouterr().err


def test_a_training_run_inside_a_stage_shows_epoch_loss_and_held_out_accuracy(terminal):
    with (
        stage("Partial input", silent=False),
        training_bar("bilstm, full input", silent=False) as watch,
    ):
        watch(Step(1, 3, 5, 30, 0.9741, 0.47))
    written = terminal()
    assert "Partial input" in written
    assert "1/3 · loss 0.974 · validation accuracy 47.0 %" in written
    assert "47.0 % left" not in written


def test_the_stage_goes_on_after_a_run_that_failed(terminal):
    with stage("Partial input", silent=False):
        with pytest.raises(ValueError, match="out of memory"), training_bar("bilstm", silent=False):
            raise ValueError("out of memory")
        terminal()
        with training_bar("esim", silent=False) as watch:
            watch(Step(2, 3, 20, 30, 0.5))
        assert "esim" in terminal()


def test_nothing_is_written_where_nobody_looks(capsys):
    with stage("Partial input", silent=True), training_bar("bilstm", silent=True) as watch:
        watch(Step(1, 3, 5, 30, 0.9))
    assert capsys.readouterr().err == ""
