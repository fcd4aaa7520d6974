"""Which surface features are associated with a label?"""

from cuecard.audits.cues.audit import Cues
from cuecard.audits.cues.explain import Explanation, explain

__all__ = ["Cues", "Explanation", "explain"]
