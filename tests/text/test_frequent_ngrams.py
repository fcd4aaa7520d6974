"""N-grams that are numbered chunk by chunk are the frequent ones of those that are numbered at once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.data.space import temporary_space
from cuecard.text.tokens import Tokens, frequent_ngrams, ngrams, one_vocabulary


def drawn(seed: int, n: int = 300) -> Tokens:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 9, n))]).astype(np.int64)
    ids = rng.integers(0, 30, offsets[-1]).astype(np.int32)
    return Tokens(ids, offsets, pl.Series([f"w{i}" for i in range(30)]))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("at_least", [2, 5])
def test_frequent_ngrams_are_those_of_all_that_occur_often_enough(n, at_least, monkeypatch):
    monkeypatch.setattr("cuecard.data.space.SMALL", 0)
    for seed in range(4):
        tokens = drawn(seed)
        every, frequent = ngrams(tokens, n), frequent_ngrams(tokens, n, at_least, temporary_space(37))
        kept = np.flatnonzero(np.bincount(every.ids, minlength=every.n_types) >= at_least)
        assert frequent.names().to_list() == every.names(kept).to_list()
        code = np.full(every.n_types, -1)
        code[kept] = np.arange(len(kept))
        for row in range(len(tokens)):
            own = code[every.ids[every.offsets[row] : every.offsets[row + 1]]]
            assert (
                frequent.ids[frequent.offsets[row] : frequent.offsets[row + 1]].tolist()
                == own[own >= 0].tolist()
            )


@pytest.mark.parametrize("rows", [7, 1_000])
def test_texts_that_are_tokenised_in_chunks_have_the_vocabulary_of_all(rows):
    whole = drawn(1).renumbered()
    parts = (whole.rows(start, min(start + rows, 300)).renumbered() for start in range(0, 300, rows))
    joined = one_vocabulary(parts, temporary_space(rows))
    assert joined.ids.tolist() == whole.ids.tolist()
    assert joined.offsets.tolist() == whole.offsets.tolist()
    assert joined.vocabulary.to_list() == whole.vocabulary.to_list()
