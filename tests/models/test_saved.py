from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cuecard.errors import InputError
from cuecard.models.saved import read_arrays, write_arrays

ARRAYS = {
    "a/b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "none": np.zeros((0, 4)),
    "é": np.array([2**40, -1]),
    "flags": np.array([True, False]),
    "column": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(3, 2)),
}


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x.safetensors", ARRAYS)
    found = read_arrays(tmp_path / "x.safetensors")
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("size", [0, 5, 60, -1])
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, size: int) -> None:
    write_arrays(tmp_path / "x", ARRAYS)
    whole = (tmp_path / "x").read_bytes()
    (tmp_path / "x").write_bytes(whole[:size])
    with pytest.raises(InputError, match="not a safetensors file"):
        read_arrays(tmp_path / "x")
