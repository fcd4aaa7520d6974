"""What is kept on disk: made once, made again where a file is broken, and never an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cuecard.cache import cache_folder, cached_arrays, content_key


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(value: float, length: int = 1) -> npt.NDArray[np.float32]:
    made = np.full((length, 2), value, dtype=np.float32)
    return cached_arrays("vectors", "key", [length], lambda: [made])[0]


def test_arrays_are_made_once(own_folder: Path) -> None:
    assert kept(3).tolist() == kept(4).tolist() == [[3, 3]]
    assert kept(4).dtype == np.float32
    assert [file.name for file in (own_folder / "vectors").iterdir()] == ["key.npz"]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01", b"not numpy"])
def test_a_broken_file_is_replaced(own_folder: Path, content: bytes) -> None:
    (own_folder / "vectors").mkdir(parents=True)
    (own_folder / "vectors" / "key.npz").write_bytes(content)
    assert kept(7).tolist() == [[7, 7]]
    assert kept(8).tolist() == [[7, 7]]


def test_arrays_of_another_length_or_kind_are_not_used(own_folder: Path) -> None:
    kept(7, length=2)
    assert kept(8).tolist() == [[8, 8]]
    np.savez(own_folder / "vectors" / "key.npz", part0=np.array(["text"]))
    assert kept(9).tolist() == [[9, 9]]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CUECARD_CACHE", str(tmp_path / "file"))
    assert kept(1).tolist() == [[1, 1]]


def test_the_users_cache_folder_is_used_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    platformdirs = pytest.importorskip("platformdirs")
    monkeypatch.delenv("CUECARD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == Path(platformdirs.user_cache_dir("cuecard", appauthor=False))


def test_a_key_goes_by_content_and_not_by_order() -> None:
    assert content_key({"a": 1, "b": "\udc00"}) == content_key({"b": "\udc00", "a": 1})
    assert content_key({"a": 1}) != content_key({"a": 2})
