"""Tokenisers written in Python, made fast: each distinct piece of text is cut once, the rest is gathering."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import running_total
from cuecard.text.tokenisers.bytewise import whole_texts
from cuecard.text.tokens import Tokens

#: Cuts every piece into its tokens.
Cut = Callable[[list[str]], Iterable[list[str]]]


def tokenise_distinct(texts: pl.Series, cut: Cut, *, threads: int | None = None) -> Tokens:
    """Return the lower-cased tokens of every text, each distinct text cut once."""
    whole = whole_texts(texts, threads=threads)
    return assemble(whole.ids, whole.offsets, cut(whole.vocabulary.to_list()))


def assemble(
    pieces: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], cuts: Iterable[list[str]]
) -> Tokens:
    """Return the tokens of texts made of numbered pieces, given the tokens of every piece.

    Pieces are numbered in order of first occurrence, so the vocabulary is, too.
    """
    words: list[str] = []
    lengths: list[int] = []
    for cut in cuts:
        before = len(words)
        words.extend(word for word in cut if word)
        lengths.append(len(words) - before)
    types = whole_texts(pl.Series(words, dtype=pl.String).str.to_lowercase())
    of_pieces = Tokens(types.ids, running_total(np.array(lengths, dtype=np.int64)), types.vocabulary)
    in_order = of_pieces.gather(pieces)
    return Tokens(in_order.ids, in_order.offsets[offsets], types.vocabulary)
