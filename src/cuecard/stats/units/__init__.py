"""Repeated texts: effective counts, shuffles of whole units, and tests under weights."""

from cuecard.stats.units.codes import block_orders, group_orders, group_units, has_repeats, label_orders
from cuecard.stats.units.effective import UnitCounts, unit_counts
from cuecard.stats.units.paired_weights import PairShuffleTest, pair_shuffle_test

__all__ = [
    "PairShuffleTest",
    "UnitCounts",
    "block_orders",
    "group_orders",
    "group_units",
    "has_repeats",
    "label_orders",
    "pair_shuffle_test",
    "unit_counts",
]
