from __future__ import annotations

import pytest
from rich.console import Console

from cuecard.cli import streams as timings
from cuecard.cli.streams import stage, training_bar
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


def test_a_step_that_took_long_says_how_much_time_is_left(terminal, monkeypatch, tmp_path):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    monkeypatch.setattr(timings, "_examples", 1000)
    (tmp_path / "timings.json").write_text('{"Clusters": 0.06, "Cues": 0.001}')
    with stage("Step 2 of 5: Clusters", silent=False):
        pass
    written = terminal()
    assert "Step 2 of 5: Clusters" in written
    assert "about 60 s left" in written
    with stage("Step 3 of 5: Cues", silent=False):
        pass
    assert "left" not in terminal()


def test_the_time_of_a_step_is_kept_per_example_unless_it_failed(terminal, monkeypatch, tmp_path):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    monkeypatch.setattr(timings, "_examples", 10)
    with pytest.raises(ValueError, match="no"), timings.timed("Step 1 of 2: Cues"):
        raise ValueError("no")
    assert timings.expected_seconds("Cues") is None
    with timings.timed("Step 1 of 2: Cues"):
        pass
    assert 0 <= timings.expected_seconds("Step 2 of 9: Cues") < 5


@pytest.mark.parametrize("damaged", ['["no"]', '{"Cues": 1', f'{{"Cues": {10**400}}}', "[" * 90_000, "\x00"])
def test_a_damaged_file_of_times_counts_as_none(damaged, monkeypatch, tmp_path):
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path))
    monkeypatch.setattr(timings, "_examples", 10)
    (tmp_path / "timings.json").write_text(damaged)
    assert timings.expected_seconds("Cues") is None


def test_that_a_run_resumes_is_said_in_a_log_as_well(capsys):
    for silent in (False, True):
        with stage("Counts (resumes after 2 of 5 parts)", silent=silent):
            pass
    with stage("Counts", silent=False):
        pass
    assert capsys.readouterr().err == "Counts (resumes after 2 of 5 parts)\n"
