"""Numbers that are equal for equal texts alone: what shares a hash is compared itself."""

from cuecard.data.exact.inputs import Inputs
from cuecard.data.exact.texts import (
    KINDS,
    SIDES,
    Kind,
    changed_hashes,
    exact_hashes,
    form,
    none_sharing,
    sharing,
    told_apart,
)

__all__ = [
    "KINDS",
    "SIDES",
    "Inputs",
    "Kind",
    "changed_hashes",
    "exact_hashes",
    "form",
    "none_sharing",
    "sharing",
    "told_apart",
]
