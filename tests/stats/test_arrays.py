"""Long arrays are gone through in parts that leave nothing out."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from cuecard.stats import arrays
from cuecard.stats.arrays import Threads, arrays_in_files, chunks, counted, follows


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(chunks, "__defaults__", (7,))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 50])
def test_parts_are_all_of_an_array(n):
    values = np.arange(n)
    parts = [values[some] for some in chunks(n)]
    assert np.concatenate([values[:0], *parts]).tolist() == values.tolist()
    assert all(0 < len(part) <= 7 for part in parts)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint32, np.int64])
def test_small_numbers_are_counted_as_numpy_counts_them(kind):
    codes = np.random.default_rng(0).integers(0, 9, 100).astype(kind)
    assert counted(codes, 12).tolist() == np.bincount(codes, minlength=12).tolist()
    assert counted(codes).tolist() == np.bincount(codes).tolist()
    assert counted(codes[:0], 2).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], False),
        ([4], True),
        (range(3, 40), True),
        ([0, 2, 1, 3], False),
        ([*range(7), *range(8, 15), 7, *range(15, 20)], False),
        ([5, 4, 3], False),
    ],
)
def test_a_gap_or_a_step_back_is_seen_wherever_it_is(numbers, expected):
    assert follows(np.array(numbers, dtype=np.int64)) is expected


def test_a_part_has_a_million_entries_by_default(monkeypatch):
    monkeypatch.undo()
    assert next(chunks(1 << 22)) == slice(0, arrays.CHUNK)


LEAST = 1 << 20


def files_mapped(folder):
    """Return how many bytes of this process are files of a folder that have no names."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    places = [line.split()[0].split("-") for line in lines if f"{folder}/array-" in line]
    return sum(int(end, 16) - int(start, 16) for start, end in places)


@pytest.mark.skipif(sys.platform != "linux", reason="arrays are in memory on other systems")
def test_large_arrays_are_files_without_names_and_have_the_same_values(tmp_path):
    with arrays_in_files(tmp_path, LEAST):
        zeros = np.zeros(LEAST, dtype=np.int64)
        assert files_mapped(tmp_path) >= zeros.nbytes
        assert not zeros.any()
        zeros += np.arange(LEAST)
        values = np.sort(zeros[::-1] % 1000)
        small = np.ones(10)
    assert files_mapped(tmp_path) >= 2 * zeros.nbytes
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(values, np.sort(np.arange(LEAST) % 1000))
    values.resize(2 * LEAST, refcheck=False)
    assert (values[LEAST - 1], values[LEAST:].any()) == (999, False)
    small.resize(20, refcheck=False)
    assert small.sum() == 10
    after = np.ones(LEAST)
    del zeros, values
    assert files_mapped(tmp_path) == 0
    assert after.sum() == LEAST


@pytest.mark.skipif(sys.platform != "linux", reason="arrays are in memory on other systems")
def test_threads_have_their_arrays_where_the_thread_has_them_that_gives_them_work(tmp_path):
    def made(_=None):
        return np.zeros(LEAST)

    with Threads(2) as threads:
        before = threads.submit(made).result()
        assert files_mapped(tmp_path) == 0
        with arrays_in_files(tmp_path, LEAST):
            arrays = [threads.submit(made).result(), *threads.map(made, range(2))]
    assert files_mapped(tmp_path) >= 3 * before.nbytes
    assert all(array.shape == before.shape for array in arrays)


def test_arrays_are_in_memory_where_a_folder_takes_no_files(tmp_path):
    with arrays_in_files(tmp_path / "absent", LEAST):
        assert np.ones(LEAST).sum() == LEAST
    with arrays_in_files(None, LEAST):
        assert np.ones(LEAST).sum() == LEAST
