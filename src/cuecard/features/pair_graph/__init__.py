"""Features of the graph of compared sentences (Selection), and of the pairs' texts without naming a word."""

from cuecard.features.pair_graph.graph import (
    LEAKAGE_FEATURES,
    PROXIMITY_FEATURES,
    WALK_FEATURES,
    PairGraph,
    advanced_features,
    deepwalk,
    embedding_features,
    graph_of,
    leakage_features,
    leakage_points,
    leakage_rows,
    pair_graph,
    proximity_features,
    sentence_codes,
    walk_features,
)
from cuecard.features.pair_graph.two_steps import (
    SentencePairs,
    TwoSteps,
    pairs_of,
    two_step_walks,
)
from cuecard.features.pair_graph.unlexicalized import (
    UNLEXICALIZED_FEATURES,
    bleu_scores,
    unlexicalized_features,
)

__all__ = [
    "LEAKAGE_FEATURES",
    "PROXIMITY_FEATURES",
    "UNLEXICALIZED_FEATURES",
    "WALK_FEATURES",
    "PairGraph",
    "SentencePairs",
    "TwoSteps",
    "advanced_features",
    "bleu_scores",
    "deepwalk",
    "embedding_features",
    "graph_of",
    "leakage_features",
    "leakage_points",
    "leakage_rows",
    "pair_graph",
    "pairs_of",
    "proximity_features",
    "sentence_codes",
    "two_step_walks",
    "unlexicalized_features",
    "walk_features",
]
