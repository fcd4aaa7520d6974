"""Examples are connected as the components of a graph are, in memory and in files."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cuecard.data import load
from cuecard.data.space import MEMORY, Space
from cuecard.data.splits import join_sentences, join_units, number_groups


def in_order(components: np.ndarray) -> list[int]:
    """Return the components numbered by first occurrence."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(int(one), len(numbers)) for one in components]


def of_graph(n: int, edges: list[tuple[int, int]]) -> list[int]:
    """Return the components of a graph of examples and what they have, -1 being nothing."""
    used = np.array([(a, n + b) for a, b in edges if b >= 0]).reshape(-1, 2)
    size = n + max((b for _, b in edges), default=0) + 1
    graph = coo_array((np.ones(len(used)), (used[:, 0], used[:, 1])), shape=(size, size))
    return in_order(connected_components(graph, directed=False)[1][:n])


def drawn_pairs(seed: int, n: int) -> tuple[pl.DataFrame, list[tuple[int, int]]]:
    rng = np.random.default_rng(seed)
    texts = rng.integers(-1, n, (n, 2))
    names = [["" if t < 0 else f"Sentence {t}{'.' * rng.integers(2)}" for t in pair] for pair in texts]
    table = pl.DataFrame(
        {
            "premise": [a for a, _ in names],
            "hypothesis": [b for _, b in names],
            "label": ["x", "y"] * (n // 2),
        }
    )
    return table, [(i, int(t)) for i, pair in enumerate(texts) for t in pair]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("in_files", [False, True])
def test_sentences_connect_as_the_edges_of_a_graph_do(seed, in_files, tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.units.buckets.RECORDS", 20)
    monkeypatch.setattr("cuecard.data.splits.AT_A_TIME", 33)
    table, edges = drawn_pairs(seed, 300)
    data, groups = load(table, task="pair"), np.arange(300)
    assert len(data) == 300
    join_sentences(data, ("premise", "hypothesis"), groups, Space(tmp_path) if in_files else MEMORY)
    number_groups(groups)
    assert groups.tolist() == of_graph(300, edges)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", range(5))
def test_units_connect_examples_of_several_rows_and_blank_rows_none(seed):
    rng = np.random.default_rng(seed)
    units, examples = rng.integers(0, 200, 400), np.sort(rng.integers(0, 150, 400))
    examples = np.unique(examples, return_inverse=True)[1]
    blank, n = rng.random(400) < 0.3, int(examples.max()) + 1
    groups = np.arange(n)
    join_units(units, blank, examples, groups)
    number_groups(groups)
    edges = [(int(e), -1 if b else int(u)) for e, u, b in zip(examples, units, blank, strict=True)]
    assert groups.tolist() == of_graph(n, edges)
    every = np.arange(n)
    join_units(units, None, examples, every)
    number_groups(every)
    assert every.tolist() == of_graph(n, [(int(e), int(u)) for e, u in zip(examples, units, strict=True)])


def test_no_example_is_no_group():
    nothing = np.empty(0, dtype=np.int64)
    join_units(nothing, None, nothing, nothing)
    number_groups(nothing)
    assert not len(nothing)
