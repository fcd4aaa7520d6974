"""The graph of which sentence is compared with which, and what it says about a pair; nothing of what sentences say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.features.pair_graph.two_steps import SentencePairs, TwoSteps, two_step_walks
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints, chunks, whole_type
from cuecard.stats.counted_forest import Points, points_in_parts


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


def graph_of(data: Instances) -> PairGraph:
    """Return the graph over all splits of a dataset: premise and hypothesis of every instance are joined."""
    first, second, n_nodes = sentence_codes(data.table["premise"], data.table["hypothesis"])
    return pair_graph(first, second, n_nodes)


def leakage_rows(pairs: SentencePairs, steps: TwoSteps, rows: slice) -> npt.NDArray[np.int64]:
    """Return S1_freq, S2_freq and S1S2_inter of some of the pairs.

    A pair that is not counted in the graph gets the features it would have if it alone were added.
    """
    a, b = pairs.first[rows], pairs.second[rows]
    columns: list[npt.NDArray[Any]] = [pairs.frequency[a], pairs.frequency[b], steps.walks[rows]]
    table = np.column_stack(columns).astype(np.int64, copy=False)
    if pairs.counted is not None:
        alone = np.flatnonzero(~pairs.counted[rows])
        a, b, loops = a[alone], b[alone], pairs.loops
        table[alone, :2] += np.where(a == b, 2, 1)[:, None]
        # With A' = A + the pair itself: A'²[a, b] = A²[a, b] + A[a, a] + A[b, b], and (A[a, a] + 2)² if a = b.
        table[alone, 2] += np.where(a == b, 4 * loops[a] + 4, loops[a] + loops[b])
    return table


def leakage_points(pairs: SentencePairs, steps: TwoSteps) -> Points:
    """Return the distinct features in lexicographic order, and which of them every pair has."""
    index = pairs.space.array(whole_type(len(pairs)), len(pairs))
    return points_in_parts(((rows, leakage_rows(pairs, steps, rows)) for rows in chunks(len(pairs))), index)


#: The three leakage features of the Selection paper, in its order.
LEAKAGE_FEATURES = ("s1_freq", "s2_freq", "s1s2_inter")

#: Eight features from powers of A, and the four neighbourhood indices.
WALK_FEATURES = (
    "s1_freq", "s2_freq", "two_step", "three_step", "s1_two_step", "s2_two_step", "s1_three_step", "s2_three_step",
)  # fmt: skip
PROXIMITY_FEATURES = ("resource_allocation", "jaccard", "preferential_attachment", "adamic_adar")


def leakage_features(graph: PairGraph) -> Ints:
    """Return S1_freq, S2_freq and S1S2_inter of every pair.

    The first two are how often each sentence occurs in the whole dataset; the third is the entry of A², the
    number of two-step walks between them. (The paper's text says common neighbours; its numbers are walks.)
    A pair that is not counted in the graph gets the features it would have if it alone were added.
    """
    pairs = SentencePairs(graph.first, graph.second, graph.n_nodes, graph.counted)
    return leakage_rows(pairs, two_step_walks(pairs), slice(None))


def walk_features(graph: PairGraph) -> Floats:
    """Return the columns `WALK_FEATURES` of every pair: degrees, A² and A³ at the pair, row sums of both."""
    two = _two_step(graph)[0]
    three = _native.three_step(
        graph.indptr,
        graph.neighbours,
        graph.entries,
        graph.edge_at,
        graph.n_edges,
        max(isqrt(2 * graph.n_edges), 8),
    )
    degree = graph.frequency.astype(np.float64)
    reach_two = graph.times(degree)
    reach_three = graph.times(reach_two)
    a, b = graph.first, graph.second
    columns = [degree[a], degree[b], two[graph.edge], three[graph.edge]]
    columns += [reach_two[a], reach_two[b], reach_three[a], reach_three[b]]
    return np.column_stack(columns)


def proximity_features(graph: PairGraph, *, hub: bool = False) -> Floats:
    """Return the columns `PROXIMITY_FEATURES` of every pair, on the graph without repeats and self-pairs.

    With a `hub` that neighbours every sentence, Adamic–Adar is that of the authors' code.
    """
    degrees = _loop_free_degrees(graph)
    _, common, allocation, adamic = _two_step(graph)
    if hub:
        adamic = _two_step(graph, more=1)[3] + 1 / np.log(max(graph.n_nodes, 2))
    a, b = graph.first, graph.second
    shared = common[graph.edge]
    union = degrees[a] + degrees[b] - shared
    jaccard = np.divide(shared, union, out=np.zeros(len(graph)), where=union > 0)
    attachment = degrees[a].astype(np.float64) * degrees[b]
    return np.column_stack([allocation[graph.edge], jaccard, attachment, adamic[graph.edge]])


def _loop_free_degrees(graph: PairGraph) -> Ints:
    """Return how many other sentences every sentence is paired with."""
    degrees = np.diff(graph.indptr)
    is_loop = np.repeat(np.arange(len(degrees)), degrees) == graph.neighbours
    return np.asarray(degrees - np.bincount(graph.neighbours[is_loop], minlength=len(degrees)))


def _two_step(graph: PairGraph, *, more: int = 0) -> tuple[Floats, Floats, Floats, Floats]:
    """Return what walks of two steps give, where every sentence has some more neighbours than the graph shows."""
    degrees = _loop_free_degrees(graph) + more
    walks: tuple[Floats, Floats, Floats, Floats] = _native.two_step(
        graph.indptr, graph.neighbours, graph.entries, graph.edge_at, graph.n_edges, degrees
    )
    return walks


#: Sentences of a walk within this many steps are neighbours; of every pair of them, this many others are no neighbours.
WINDOW, NEGATIVES = 5, 5


def deepwalk(
    graph: PairGraph,
    *,
    dimensions: int = 64,
    walks: int = 10,
    length: int = 20,
    seed: int = 0,
) -> npt.NDArray[np.float32]:
    """Return a vector per sentence, trained by skip-gram with negative sampling on random walks.

    Every sentence starts `walks` walks of `length` steps. The walks are made while training and never stored; one
    thread and one seed make the vectors the same in every run.
    """
    if graph.n_nodes == 0:
        return np.zeros((0, dimensions), dtype=np.float32)
    rng = np.random.default_rng(seed)
    start = ((rng.random((graph.n_nodes, dimensions)) - 0.5) / dimensions).astype(np.float32)
    # word2vec draws negatives by frequency to the power 3/4; a walk visits a node in proportion to its degree.
    noise = np.cumsum(np.diff(graph.indptr).astype(np.float64) ** 0.75)
    drawn_seed = int(rng.integers(1 << 63))
    _native.skip_gram(
        graph.indptr, graph.neighbours, start, noise / noise[-1], walks, length, WINDOW, NEGATIVES, drawn_seed
    )
    return start


def embedding_features(graph: PairGraph, vectors: npt.NDArray[np.float32]) -> Floats:
    """Return the elementwise product of both sentences' vectors and, last, their dot product."""
    product = vectors[graph.first].astype(np.float64) * vectors[graph.second]
    return np.column_stack([product, product.sum(axis=1)])


def advanced_features(graph: PairGraph, *, seed: int = 0, hub: bool = False) -> Floats:
    """Return the paper's 77 *Advanced* features: 8 of walks, 65 of DeepWalk embeddings, 4 of proximity.

    `hub` is that of `proximity_features`.
    """
    embedded = embedding_features(graph, deepwalk(graph, seed=seed))
    return np.column_stack([walk_features(graph), embedded, proximity_features(graph, hub=hub)])
