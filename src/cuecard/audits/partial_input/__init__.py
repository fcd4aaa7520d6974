"""Can the label be predicted without the information that should be needed?"""

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names

if TYPE_CHECKING:
    from cuecard.audits.partial_input.audit import PartialInput

__all__ = ["PartialInput"]
__getattr__ = lazy_names(__name__)
