"""Compiled code works where nothing can be kept: no home, a full disk, damaged files."""

from __future__ import annotations

import importlib.util
import os
import resource
from pathlib import Path
from typing import Any

import numba
import pytest

from cuecard import _cache_folder, _compiled
from cuecard._cache_folder import cache_folder

SOURCE = """
from cuecard._compiled import njit

def twice():
    @njit(cache=True, nogil=True)
    def doubled(x):
        return 2 * x
    return doubled
"""


@pytest.fixture
def twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a compiled function of a file of its own, which is kept in the folder `kept`."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "kept"))
    file = tmp_path / "doubling.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("doubling", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.twice


def test_compiled_code_is_kept_and_read_again(twice: Any, tmp_path: Path) -> None:
    first = twice()  # numba finds the names of a function without a module only while it lives
    assert first(4) == 8
    assert list((tmp_path / "kept").rglob("*.nbi"))
    again = twice()
    assert again(4) == 8
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_full_disk_costs_only_what_is_kept(twice: Any) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        assert twice()(4) == 8
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_damaged_code_is_compiled_again(twice: Any, tmp_path: Path) -> None:
    assert twice()(4) == 8
    for file in (tmp_path / "kept").rglob("*.nb?"):
        file.write_bytes(file.read_bytes()[:10])
    assert twice()(4) == 8


def test_code_of_another_signature_is_compiled_again(twice: Any, tmp_path: Path) -> None:
    function = twice()
    assert (function(4), function(0.25)) == (8, 0.5)
    whole, fraction = sorted((tmp_path / "kept").rglob("*.nbc"))
    fraction.write_bytes(whole.read_bytes())  # as two processes leave them that compile at the same time
    assert twice()(0.25) == 0.5


def test_without_any_folder_nothing_is_kept(
    twice: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(_compiled.os, "access", lambda *_: False)
    _compiled._has_folder.cache_clear()
    try:
        assert not _compiled._has_folder()
        assert twice()(4) == 8
        monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
        _compiled._has_folder.cache_clear()
        _compiled._has_folder()
        assert str(tmp_path / "cache" / "compiled") == numba.config.CACHE_DIR
    finally:
        _compiled._has_folder.cache_clear()


def test_where_nothing_is_compiled_functions_run_as_they_are_written(
    twice: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)
    assert twice()(4) == 8
    assert not (tmp_path / "kept").exists()


def test_without_a_home_a_private_folder_among_temporary_files_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("CUECARD_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "nobody"))
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(_cache_folder.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = cache_folder()
    assert folder == tmp_path / f"cuecard-{os.getuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)  # somebody else could put code there
    assert cache_folder() == tmp_path / "file" / "nobody" / ".cache" / "cuecard"


def test_a_home_that_is_not_known_makes_no_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUECARD_CACHE")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: Path("~/.cache/cuecard"))
    monkeypatch.setattr(_cache_folder.tempfile, "gettempdir", lambda: str(tmp_path))
    assert cache_folder() == tmp_path / f"cuecard-{os.getuid()}"
