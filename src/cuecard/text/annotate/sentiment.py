"""Positive, negative or neutral: the sign of the sum of word polarities."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import MissingExtraError
from cuecard.text.tokens import Tokens


def sentiment(tokens: Tokens) -> npt.NDArray[np.int8]:
    """Return -1, 0 or 1 for every text: the sign of the sum of VADER's word polarities."""
    polarity = word_polarities()
    # Polarities have one decimal: whole tenths add up exactly, in whatever order.
    tenths = np.array([round(10 * polarity.get(word, 0.0)) for word in tokens.vocabulary], dtype=np.int64)
    sums = np.concatenate([[0], np.cumsum(tenths[tokens.ids])])[tokens.offsets]
    return np.sign(np.diff(sums)).astype(np.int8)


@cache
def word_polarities() -> dict[str, float]:
    """Return the mean polarity (-4 to 4) of every word in VADER's lexicon, lower-cased.

    The package's file is read as data: importing its analyser would bring an HTTP client along.
    """
    spec = find_spec("vaderSentiment")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("vaderSentiment", "english", "Sentiment of English words")
    path = Path(spec.submodule_search_locations[0]) / "vader_lexicon.txt"
    table = pl.read_csv(path, separator="\t", has_header=False, quote_char=None, columns=[0, 1])
    words, values = table.to_dict(as_series=False).values()
    return {word.lower(): value for word, value in zip(words, values, strict=True)}
