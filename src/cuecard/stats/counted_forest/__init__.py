"""Random forests for few distinct points seen many times: the cost is per point, never per row."""

from cuecard.stats.counted_forest.cross_fit import (
    cross_fitted,
    fold_numbers,
    in_threads,
    on_counts,
)
from cuecard.stats.counted_forest.points import Points, distinct_points, points_in_parts
from cuecard.stats.counted_forest.row_forest import forest_probabilities

__all__ = [
    "Points",
    "cross_fitted",
    "distinct_points",
    "fold_numbers",
    "forest_probabilities",
    "in_threads",
    "on_counts",
    "points_in_parts",
]
