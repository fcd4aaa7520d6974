"""Tables of pieces are added up to the sums of the whole, however they are cut and in whatever order they come."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cuecard.engines import Store, Sum, sums_in
from cuecard.engines import sums as adding
from cuecard.engines.on_ray import BRANCHES, Tree
from cuecard.engines.sums import added, parted, sums_of

KEYS = ("family", "feature", "class")


def often(table: pl.DataFrame) -> pl.DataFrame:
    return table.group_by("feature").agg(pl.col("n").sum()).filter(pl.col("n") >= 40)


SUMS = {"counts": Sum(KEYS, "feature", often)}


@pytest.fixture(scope="module")
def pieces() -> list[dict[str, pl.DataFrame]]:
    random = np.random.default_rng(0)
    made = []
    for _ in range(30):
        n = int(random.integers(1, 60))
        columns = {
            "family": random.choice(["word", "bigram"], n),
            "feature": [f"wörd {i}" for i in random.zipf(1.5, n) % 40],
            "class": random.integers(0, 4, n),
            "n": random.integers(1, 9, n),
        }
        made.append({"counts": pl.DataFrame(columns), "skipped": pl.DataFrame({"family": ["length"]})})
    return [*made, {"skipped": pl.DataFrame({"family": ["length"]})}]  # one has no counts


@pytest.fixture(scope="module")
def expected(pieces) -> pl.DataFrame:
    """Return the sums in plain Python."""
    totals: dict[str, int] = {}
    for piece in pieces:
        for row in piece["counts"].iter_rows(named=True) if "counts" in piece else ():
            totals[row["feature"]] = totals.get(row["feature"], 0) + row["n"]
    kept = {name: n for name, n in totals.items() if n >= 40}
    assert 3 < len(kept) < len(totals)
    return pl.DataFrame({"feature": list(kept), "n": list(kept.values())}).sort("feature")


@pytest.mark.parametrize("n_parts", [1, 2, 7])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_tree_of_parts_by_key_gives_the_sums(pieces, expected, n_parts, seed):
    heights = []

    def merge(nodes):
        heights.append(1 + max((node[1] for node in nodes), default=0))
        return added([node[0] for node in nodes], SUMS, last=False), heights[-1]

    trees = [Tree(merge) for _ in range(n_parts)]
    for i in np.random.default_rng(seed).permutation(len(pieces)):
        kept, parts = parted(pieces[i], SUMS, n_parts)
        assert list(kept) == ["skipped"]
        for tree, part in zip(trees, parts, strict=True):
            tree.add((part, 0))
    ends = [added([node[0] for node in tree.nodes()], SUMS, last=True)["counts"] for tree in trees]
    assert sum(part["feature"].n_unique() for part in ends) == expected.height  # no feature is in two parts
    assert_frame_equal(pl.concat(ends).sort("feature"), expected)
    assert max(heights) == 1 if len(pieces) < BRANCHES**2 else 2
    assert all(len(tree.nodes()) < BRANCHES * 2 for tree in trees)


@pytest.mark.parametrize("at_a_time", [50, 1_000_000])
def test_slices_on_disk_give_the_sums(pieces, expected, at_a_time, tmp_path, monkeypatch):
    monkeypatch.setattr(adding, "AT_A_TIME", at_a_time)
    monkeypatch.setattr(adding, "BEFORE", 2 * at_a_time)
    store = Store(tmp_path)
    for i, piece in enumerate(pieces):
        store.put("cues", i, piece)
    slices = list(sums_in(store, "cues", "counts", SUMS["counts"]))
    assert (len(slices) > 1) == (at_a_time == 50)
    assert_frame_equal(pl.concat(slices).sort("feature"), expected)
    assert list(sums_in(store, "cues", "nothing", SUMS["counts"])) == []


def test_sums_of_a_cluster_are_taken_before_those_of_single_pieces(pieces, expected, tmp_path):
    store = Store(tmp_path)
    store.put(sums_of("cues"), 0, {"counts": expected})
    store.put("cues", 0, pieces[0])
    assert_frame_equal(pl.concat(sums_in(store, "cues", "counts", SUMS["counts"])), expected)


def test_what_is_left_of_sums_may_have_parameters(pieces):
    least = Sum(KEYS, "feature", partial(lambda n, table: table.filter(pl.col("n") >= n), 5))
    table = least.of(pieces[0]["counts"].lazy(), last=True)
    assert table["n"].min() >= 5
