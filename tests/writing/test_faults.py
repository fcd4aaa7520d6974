"""Whatever stops a write, in the system or in a library, is one sentence that names the place."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from cuecard.errors import InputError
from cuecard.writing import write_together, write_whole


class PanicException(BaseException):
    """As pyo3 raises it: not an `Exception`."""


PanicException.__module__ = "pyo3_runtime"
FAULTS = [
    *(
        OSError(number, os.strerror(number))
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
    ),
    pl.exceptions.ComputeError("No space left on device"),
    pa.ArrowException("No space left on device"),
    PanicException("No space left on device\nbacktrace"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{type(fault).__name__} {fault}"[:40])
def test_a_fault_while_a_file_or_a_folder_is_written_is_a_sentence_and_leaves_what_was_there(
    tmp_path: Path, fault: BaseException
) -> None:
    def write(file: Path) -> None:
        file.write_text("half")
        raise fault

    folder, file = tmp_path / "folder", tmp_path / "file"
    file.write_text("old")
    folder.mkdir()
    (folder / "a").write_text("old")
    reason = getattr(fault, "strerror", None) or "No space left on device"
    for place, attempt in (
        (file, lambda: write_whole(file, write)),
        (folder, lambda: write_together(folder, {"a": write})),
    ):
        with pytest.raises(InputError) as refused:
            attempt()
        assert str(refused.value).startswith(str(place))
        assert str(refused.value).endswith(f" cannot be written ({reason}): choose another path.")
    left = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"file": "old", "a": "old"}


def test_a_fault_of_our_own_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    def write(file: Path) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_whole(tmp_path / "file", write)
    assert not list(tmp_path.iterdir())
