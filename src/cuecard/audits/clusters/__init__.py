"""Where in meaning space is the label distribution off?"""

from cuecard.audits.clusters.audit import Clusters

__all__ = ["Clusters"]
