"""Features of the graph of compared sentences (Selection), and of word overlap without words."""

from cuecard.features.pair_graph.graph import PairGraph, graph_of, pair_graph, sentence_codes
from cuecard.features.pair_graph.walks import (
    LEAKAGE_FEATURES,
    PROXIMITY_FEATURES,
    WALK_FEATURES,
    leakage_features,
    proximity_features,
    walk_features,
)

__all__ = [
    "LEAKAGE_FEATURES",
    "PROXIMITY_FEATURES",
    "WALK_FEATURES",
    "PairGraph",
    "graph_of",
    "leakage_features",
    "pair_graph",
    "proximity_features",
    "sentence_codes",
    "walk_features",
]
