"""What the graph says about a pair: how often its sentences occur, how they hang together."""

from __future__ import annotations

from math import isqrt

import numpy as np

from cuecard.features.pair_graph import _kernels
from cuecard.features.pair_graph.graph import PairGraph
from cuecard.features.pair_graph.leakage import leakage_rows
from cuecard.features.pair_graph.pairs import SentencePairs
from cuecard.features.pair_graph.two_steps import two_step_walks
from cuecard.stats.arrays import Floats, Ints

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
    three = _kernels.three_step(
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


def proximity_features(graph: PairGraph) -> Floats:
    """Return the columns `PROXIMITY_FEATURES` of every pair, on the graph without repeats and self-pairs."""
    degrees = _loop_free_degrees(graph)
    _, common, allocation, adamic = _two_step(graph)
    a, b = graph.first, graph.second
    shared = common[graph.edge]
    union = degrees[a] + degrees[b] - shared
    jaccard = np.divide(shared, union, out=np.zeros(len(graph)), where=union > 0)
    attachment = degrees[a].astype(np.float64) * degrees[b]
    return np.column_stack([allocation[graph.edge], jaccard, attachment, adamic[graph.edge]])


def _loop_free_degrees(graph: PairGraph) -> Ints:
    """Return how many other sentences every sentence is paired with."""
    degrees = np.diff(graph.indptr)
    own = np.repeat(np.arange(len(degrees)), degrees) == graph.neighbours
    return np.asarray(degrees - np.bincount(graph.neighbours[own], minlength=len(degrees)))


def _two_step(graph: PairGraph) -> tuple[Floats, Floats, Floats, Floats]:
    degrees = _loop_free_degrees(graph)
    walks: tuple[Floats, Floats, Floats, Floats] = _kernels.two_step(
        graph.indptr, graph.neighbours, graph.entries, graph.edge_at, graph.n_edges, degrees
    )
    return walks
