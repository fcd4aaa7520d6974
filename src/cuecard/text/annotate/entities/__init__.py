"""People, organisations, places, times and numbers that a text names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.text.annotate.entities.words import entity_words
from cuecard.text.tokens import Tokens

#: Types of entities and the bits of the compiled pass that mean them.
BITS = {
    "PERSON": _native.PERSON,
    "ORG": _native.ORG,
    "LOC": _native.LOC,
    "NORP": _native.NORP,
    "TIME": _native.TIME,
    "CARDINAL": _native.CARDINAL,
    "any": 0xFF,
}


def named_entities(
    tokens: Tokens, roles: npt.NDArray[np.uint32], flags: npt.NDArray[np.uint8]
) -> dict[str, npt.NDArray[np.bool_]]:
    """Return for every entity type which texts name one; `any` includes events, works and products."""
    words = entity_words(tokens.vocabulary)
    bits = _native.named_things(tokens.ids, tokens.offsets, words, roles, flags)
    return {name: (bits & bit) != 0 for name, bit in BITS.items()}
