"""What all tests share: where real data lies, and the reason for skipping where it does not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from process_state import differences, process_state

SHARED = Path(__file__).resolve().parents[2] / "shared"

#: Cases are the same in every run: what fails here fails again, and what passes does not fail a release by chance.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


def _shared(kind: str) -> Callable[[str], Path]:
    def find(relative: str) -> Path:
        path = SHARED / kind / relative
        if not path.exists():
            pytest.skip(f"real data {kind}/{relative} is not beside this checkout")
        return path

    return find


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what commands cache out of the user's folder, what is there out of the tests, and do not be in CI."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CI", raising=False)
        patch.setenv("CUECARD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def same_process(own_cache: None) -> Iterator[None]:
    """Fail a test that leaves something behind in the process, where a later one would meet it."""
    before = process_state()
    yield
    assert differences(before, process_state()) == []


@pytest.fixture(scope="session")
def real_data() -> Callable[[str], Path]:
    """Path of a real dataset file such as "snli/test.parquet"; skips where it is absent."""
    return _shared("data")


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Path]:
    """Path of a file of published numbers such as "paper_tables.json"; skips where it is absent."""
    return _shared("oracles")


@pytest.fixture(scope="session")
def layouts() -> Callable[[str], Path]:
    """Path of the first rows of a public dataset as distributed, such as "piqa/valid.jsonl"; skips where absent."""
    return _shared("layouts")


@pytest.fixture
def first_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Register the smallest model that learns as "first-word", with a cache of its own."""
    from first_word_model import registered

    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    with registered():
        yield


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture
def cuecard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a `cuecard` command line in this process."""
    from cuecard.cli import main

    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["cuecard", *map(str, arguments)])
        hook = sys.excepthook
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            sys.excepthook = hook  # the parser of options sets one of its own
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run
