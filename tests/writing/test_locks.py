"""One writer of a folder at a time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from cuecard.errors import InputError
from cuecard.models.recipe import Recipe
from cuecard.run.run_folder import RunFolder
from cuecard.writing import locked, write_together
from pace import PATIENCE


def test_a_folder_that_is_being_written_is_refused_after_a_while(tmp_path: Path) -> None:
    with (
        locked(tmp_path) as alone,
        pytest.raises(InputError, match="is being written by another run: wait until it ends"),
        locked(tmp_path, patience=0.1),
    ):
        raise AssertionError("two writers")
    assert alone
    with locked(tmp_path, patience=0):
        pass
    assert not list(tmp_path.iterdir())


def test_a_writer_waits_for_another_and_writes_the_folder_that_is_there_then(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()

    def write() -> None:
        write_together(folder, {"card": lambda file: file.write_text("second")})

    second = threading.Thread(target=write)
    with locked(folder):
        second.start()
        time.sleep(0.2)
        folder.rename(tmp_path / "moved")  # as an exchange does
        folder.mkdir()
    second.join(PATIENCE)
    assert (folder / "card").read_text() == "second"
    assert not (tmp_path / "moved" / "card").exists()


def test_a_second_training_run_of_a_folder_is_told_at_once(tmp_path: Path) -> None:
    recipe = Recipe("linear", "full", {})
    with RunFolder(tmp_path / "run", "key", recipe):
        with (
            pytest.raises(InputError, match="is being written by another run"),
            RunFolder(tmp_path / "run", "key", recipe),
        ):
            raise AssertionError("two runs")
        assert (tmp_path / "run" / "run.json").exists()
