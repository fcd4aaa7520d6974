"""Where it runs: pieces of a dataset are summarised, and the summaries merged."""

from cuecard.engines.store import (
    Store,
    Summary,
    compact,
    computed,
    gathered,
    new_array,
    on_disk,
    scratch_array,
)
from cuecard.engines.stream import Map, Stream, Summarise, locally
from cuecard.engines.sums import Sum, Sums, sums_in

__all__ = [
    "Map",
    "Store",
    "Stream",
    "Sum",
    "Summarise",
    "Summary",
    "Sums",
    "compact",
    "computed",
    "gathered",
    "locally",
    "new_array",
    "on_disk",
    "scratch_array",
    "sums_in",
]
