"""Past, present or future: the tense of a text's main verb."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.text.tokens import Tokens


def main_tense(
    tokens: Tokens, roles: npt.NDArray[np.uint32], flags: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int8]:
    """Return 0 none, 1 past, 2 present, 3 future for every text, of the finite verb of its main clause.

    A modal verb (can, would …), an imperative and a text without a finite verb have none.
    """
    tenses: npt.NDArray[np.int8] = _native.tenses(tokens.ids, tokens.offsets, roles, flags)
    return tenses
