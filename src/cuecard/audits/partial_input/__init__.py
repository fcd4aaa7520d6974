"""Can the label be predicted without the information that should be needed?"""

from cuecard.audits.partial_input.audit import PartialInput

__all__ = ["PartialInput"]
