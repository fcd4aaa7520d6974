"""Commands are read back from cards, and paths stay below the root."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuecard.web.forms import reading_of, reading_of_card, shown_command
from cuecard.web.requests.places import inside


def test_a_reading_is_found_between_other_options() -> None:
    reading = reading_of(
        "cuecard audit --only cues,overview 'my data.csv' --json --test b.csv "
        "--columns premise=a,label=c --keep-unlabelled"
    )
    assert reading is not None
    assert reading.arguments() == [
        "my data.csv", "--test", "b.csv", "--columns", "premise=a,label=c", "--keep-unlabelled",
    ]  # fmt: skip
    assert reading.files == ["my data.csv", "b.csv"]


@pytest.mark.parametrize(
    "command",
    ["", "rm -rf /", "cuecard", "cuecard report card", "cuecard audit 'open", "cuecard audit --json"],
)
def test_what_is_no_command_on_a_dataset_has_no_reading(command: str) -> None:
    assert reading_of(command) is None


def test_paths_that_lead_outside_are_none(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "in.csv").touch()
    (tmp_path / "secret.csv").touch()
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    assert inside(root, "in.csv") == (root / "in.csv").resolve()
    for path in ("../secret.csv", str(tmp_path / "secret.csv"), "link.csv", "", "a\0b"):
        assert inside(root, path) is None


def test_the_shown_command_is_the_one_to_type_in_the_root(tmp_path: Path) -> None:
    command = shown_command("audit", [f"{tmp_path}/a b.csv", "--test", f"{tmp_path}/t.csv"], tmp_path)
    assert command == "cuecard audit 'a b.csv' --test t.csv"


def test_the_files_of_a_demo_are_beside_its_card(tmp_path: Path) -> None:
    assert reading_of_card("cuecard demo", tmp_path) is None
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.parquet").touch()
    reading = reading_of_card("cuecard demo --rows 500", tmp_path)
    assert reading is not None
    assert reading.train == str(tmp_path / "data" / "train.parquet")
