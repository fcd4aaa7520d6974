"""Where it runs: pieces of a dataset are summarised, and the summaries merged."""

from cuecard.engines.store import Store, Summary, compact, new_array
from cuecard.engines.stream import Map, Stream, Summarise, locally

__all__ = ["Map", "Store", "Stream", "Summarise", "Summary", "compact", "locally", "new_array"]
