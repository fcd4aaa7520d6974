"""What CONTRIBUTING says of the tree is so, and no room is crowded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cuecard

SOURCE = Path(cuecard.__file__).parent
CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
#: Files that a folder may hold before it is divided by idea; a folder of one file per verb may hold more.
MOST_FILES = 16
ONE_FILE_EACH = {"cli/verbs"}


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", PAGE))))
def test_files_that_the_page_names_exist(path: str) -> None:
    room = CHECKOUT if path.startswith("tests/") else SOURCE
    assert (room / path.removeprefix("cuecard/")).is_file()


def test_every_room_is_in_the_table() -> None:
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {room for room in rooms if f"| `{room}/`" not in PAGE and f"`{room}/`" not in PAGE} == set()


def test_no_folder_is_crowded() -> None:
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    crowded = {str(f.relative_to(SOURCE)): len(list(f.glob("*.py"))) for f in folders}
    crowded = {name: n for name, n in crowded.items() if n > MOST_FILES and name not in ONE_FILE_EACH}
    assert crowded == {}
