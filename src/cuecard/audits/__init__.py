"""What in the data gives the answer away? One question per file."""

from cuecard.audits.clusters import Clusters
from cuecard.audits.cues import Cues, Explanation, explain
from cuecard.audits.overview import Overview
from cuecard.audits.pair_graph import PairGraphAudit
from cuecard.audits.partial_input import PartialInput
from cuecard.audits.registry import AUDITS
from cuecard.audits.slices import Slices

#: The order in which audits run and stand on a card.
for _audit in (Overview, Cues, PartialInput, Slices, PairGraphAudit, Clusters):
    AUDITS.add(_audit.name, _audit)

__all__ = [
    "AUDITS",
    "Clusters",
    "Cues",
    "Explanation",
    "Overview",
    "PairGraphAudit",
    "PartialInput",
    "Slices",
    "explain",
]
