"""Where it runs: map partitions, merge summaries."""

from cuecard.engines.local import Mergeable, map_reduce

__all__ = ["Mergeable", "map_reduce"]
