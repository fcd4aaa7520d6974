"""Units that are found bucket by bucket are those of texts in memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.data.demo import demo_nli
from cuecard.data.demo.corpus import demo_corpus
from cuecard.data.units import FoldedTexts, closest_folded, copies
from cuecard.data.units.buckets import Buckets, number_in_order
from cuecard.data.units.copies import in_order
from cuecard.data.units.in_parts import TextsHere, Words
from cuecard.data.units.on_disk import closest_on_disk, copies_on_disk


def texts() -> pl.Series:
    """Return sentences of a grammar, of a template and of random words, with copies and near copies of some."""
    template = [
        f"The {a} man is {b} in the {c} park with a {d} dog and a cat."
        for a in ("old", "young", "tall")
        for b in ("running", "sitting", "walking")
        for c in ("big", "small", "green")
        for d in ("red", "blue", "brown", "black")
    ]
    plain = demo_nli(900, seed=4).instances.train.table["hypothesis"]
    random = demo_corpus(600)["premise"].alias("hypothesis")
    base = pl.concat(
        [plain, random, pl.Series("hypothesis", template), pl.Series("hypothesis", ["", "?", "!"])]
    )
    some = [base[:300].str.replace("a", "b"), base[200:500].str.to_uppercase()]
    return pl.concat([base, *some]).sample(fraction=1, shuffle=True, seed=1)


@pytest.mark.parametrize(
    ("records", "divided", "rows"), [(1 << 21, 1 << 20, 10_000), (50, 40, 111), (700, 9, 500)]
)
def test_copies_and_the_closest_of_them_are_those_of_texts_in_memory(
    records, divided, rows, tmp_path, monkeypatch
):
    monkeypatch.setattr("cuecard.data.units.buckets.RECORDS", records)
    monkeypatch.setattr("cuecard.data.units.on_disk.DIVIDED", divided)
    every = FoldedTexts()
    parts = []
    for start in range(0, len(texts()), rows):
        folded = FoldedTexts()
        folded.add(texts()[start : start + rows])
        parts.append(Words(*folded.arrays()))
        every.add(texts()[start : start + rows])
    units, closest = (np.empty(len(texts()), dtype=np.int64) for _ in range(2))
    here = TextsHere(lambda: iter(parts), len(units), lambda: (part.whole for part in parts))
    copies_on_disk(here, units, tmp_path / "copies")
    closest_on_disk(here, units, closest, tmp_path / "closest")
    expected = copies(texts())
    assert np.array_equal(units, expected)
    assert np.array_equal(closest, closest_folded(every, expected))
    # Units are not trivial: there are near copies beside copies, and templates that are divided.
    assert units.max() < copies(texts(), near=False).max()
    assert closest.max() > units.max()
    assert not [place for place in tmp_path.rglob("*") if place.is_file()]


def test_keys_are_numbered_in_order_of_first_occurrence(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.units.buckets.RECORDS", 30)
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**63, 200, dtype=np.uint64)[rng.integers(0, 200, 1_000)] * np.uint64(2)
    numbers = np.empty(len(keys), dtype=np.int64)
    number_in_order(np.split(keys, [17, 400, 400]), numbers, tmp_path / "numbers")
    assert np.array_equal(numbers, in_order(keys))


def test_buckets_hold_rising_ranges_of_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.units.buckets.RECORDS", 100)
    numbers = np.random.default_rng(1).integers(0, 2**64 - 1, 1_500, dtype=np.uint64)
    buckets = Buckets(tmp_path / "buckets", np.uint64, len(numbers))
    for part in np.array_split(numbers, 4):
        buckets.add(part, part)
    read = [some[buckets.order(some)] for some in buckets]
    assert len(read) == 16
    assert np.array_equal(np.concatenate(read), np.sort(numbers))
