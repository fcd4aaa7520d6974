"""The graph of which sentence is compared with which: nothing of what the sentences say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.stats.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class PairGraph:
    """An undirected multigraph: a node per distinct sentence, an edge per pair.

    Its adjacency matrix is `A = Σ_pairs (e_a e_bᵀ + e_b e_aᵀ)`: an entry counts how often two sentences are
    paired, a row sums to how often a sentence occurs, and a sentence paired with itself occurs twice and has 2
    on the diagonal. `A` is kept as sorted sparse rows; powers of it are only ever evaluated at edges.

    Attributes:
        first, second: node of the two sentences of every pair.
        edge: for every pair, its index among the distinct edges.
        indptr, neighbours, entries: the sparse rows of `A`; pairs that are not counted have entries of 0.
        edge_at: for every stored entry, the index of its distinct edge.
        counted: which pairs are edges; the others are only asked about.
    """

    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    n_nodes: int
    edge: npt.NDArray[np.int32]
    indptr: Ints
    neighbours: npt.NDArray[np.int32]
    entries: Floats
    edge_at: npt.NDArray[np.int32]
    counted: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def n_edges(self) -> int:
        """How many different sentence pairs there are."""
        return int(self.edge.max()) + 1 if len(self) else 0

    @cached_property
    def frequency(self) -> Ints:
        """How often every sentence occurs, on either side: its degree, duplicates counted."""
        counts = np.bincount(self.first[self.counted], minlength=self.n_nodes)
        return counts + np.bincount(self.second[self.counted], minlength=self.n_nodes)

    def times(self, vector: Floats) -> Floats:
        """Return `A · vector` in one pass over the edges."""
        product = np.zeros(self.n_nodes)
        rows = np.flatnonzero(np.diff(self.indptr))
        if rows.size:
            sums = np.add.reduceat(self.entries * vector[self.neighbours], self.indptr[rows])
            product[rows] = sums
        return product


def pair_graph(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    n_nodes: int | None = None,
    *,
    counted: npt.ArrayLike | None = None,
) -> PairGraph:
    """Return the graph of pairs of integer sentence numbers 0 … n_nodes − 1.

    With `counted`, only those pairs are edges, such as the train pairs; features are still given for all.
    """
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    if a.shape != b.shape or a.ndim != 1:
        raise InputError("A pair graph needs two one-dimensional arrays of the same length.")
    size = n_nodes if n_nodes is not None else int(max(a.max(initial=-1), b.max(initial=-1))) + 1
    keys = np.minimum(a, b) * size + np.maximum(a, b)
    distinct, edge = np.unique(keys, return_inverse=True)
    mask = np.ones(len(a), dtype=bool) if counted is None else np.asarray(counted, dtype=bool)
    multiplicity = np.bincount(edge[mask], minlength=len(distinct))
    low, high = np.divmod(distinct, max(size, 1))
    loops = low == high
    numbers = np.arange(len(distinct), dtype=np.int32)
    rows = np.concatenate([low, high[~loops]])
    columns = np.concatenate([high, low[~loops]])
    entries = np.where(loops, 2.0 * multiplicity, multiplicity)
    order = np.lexsort((columns, rows))
    indptr = np.zeros(size + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=size), out=indptr[1:])
    return PairGraph(
        first=a.astype(np.int32),
        second=b.astype(np.int32),
        n_nodes=size,
        edge=edge.astype(np.int32).reshape(a.shape),
        indptr=indptr,
        neighbours=columns[order].astype(np.int32),
        entries=np.concatenate([entries, entries[~loops]])[order].astype(np.float64),
        edge_at=np.concatenate([numbers, numbers[~loops]])[order],
        counted=mask,
    )


def sentence_codes(first: pl.Series, second: pl.Series) -> tuple[Ints, Ints, int]:
    """Return a number per distinct string for both columns, in the strings' own order, and how many there are."""
    ranks = pl.concat([first.cast(pl.String), second.cast(pl.String)]).fill_null("").rank("dense")
    codes = ranks.to_numpy().astype(np.int64) - 1
    return codes[: len(first)], codes[len(first) :], int(codes.max(initial=-1)) + 1


def graph_of(data: Instances, *, counted: npt.ArrayLike | None = None) -> PairGraph:
    """Return the graph over all splits of a dataset: premise and hypothesis of every instance are joined."""
    first, second, n_nodes = sentence_codes(data.table["premise"], data.table["hypothesis"])
    return pair_graph(first, second, n_nodes, counted=counted)
