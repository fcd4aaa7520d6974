"""DeepWalk: sentences that random walks bring close together get similar vectors (Perozzi et al. 2014)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.features.pair_graph import _kernels
from cuecard.features.pair_graph.graph import PairGraph
from cuecard.features.pair_graph.walks import proximity_features, walk_features
from cuecard.stats.arrays import Floats

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
    vectors: npt.NDArray[np.float32] = _kernels.skip_gram(
        graph.indptr, graph.neighbours, start, noise / noise[-1], walks, length, WINDOW, NEGATIVES, rng
    )
    return vectors


def embedding_features(graph: PairGraph, vectors: npt.NDArray[np.float32]) -> Floats:
    """Return the elementwise product of both sentences' vectors and, last, their dot product."""
    product = vectors[graph.first].astype(np.float64) * vectors[graph.second]
    return np.column_stack([product, product.sum(axis=1)])


def advanced_features(graph: PairGraph, *, seed: int = 0) -> Floats:
    """Return the paper's 77 *Advanced* features: 8 of walks, 65 of DeepWalk embeddings, 4 of proximity."""
    embedded = embedding_features(graph, deepwalk(graph, seed=seed))
    return np.column_stack([walk_features(graph), embedded, proximity_features(graph)])
