"""What all tests share: where real data lies, and the reason for skipping where it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def _shared(kind: str) -> Callable[[str], Path]:
    def find(relative: str) -> Path:
        path = SHARED / kind / relative
        if not path.exists():
            pytest.skip(f"real data {kind}/{relative} is not beside this checkout")
        return path

    return find


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Path of a real dataset file such as "snli/test.parquet"; skips where it is absent."""
    return _shared("data")


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Path]:
    """Path of a file of published numbers such as "paper_tables.json"; skips where it is absent."""
    return _shared("oracles")
