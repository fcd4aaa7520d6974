"""Files written for a test, and what reading them gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuecard.data import load
from cuecard.errors import CueCardError


def pairs(data) -> list[tuple[str, str, str]]:
    return data.table.select("premise", "hypothesis", "label").rows()


def wins(data) -> list[str]:
    return data.table.filter(data.table["label"].cast(str).is_in(["chosen", "right"]))["hypothesis"].to_list()


def written(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def refused(source: object, **options) -> str:
    with pytest.raises(CueCardError) as caught:
        load(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
