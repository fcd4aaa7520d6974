"""Does the graph of repeated sentences leak the label?"""

from cuecard.audits.pair_graph.audit import PairGraphAudit

__all__ = ["PairGraphAudit"]
