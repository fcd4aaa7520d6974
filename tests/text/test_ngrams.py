from __future__ import annotations

from importlib import import_module

import numpy as np
import polars as pl
import pytest

from cuecard.errors import UsageError
from cuecard.text import ngrams, tokenise
from cuecard.text.tokens import NGrams

TEXTS = ["a man is sleeping", "is sleeping", "", "man", "a man is a man is a man"]


def names_of(grams: NGrams) -> list[list[str]]:
    names = grams.names().to_list()
    return [[names[i] for i in grams.ids[grams.offsets[k] : grams.offsets[k + 1]]] for k in range(len(grams))]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
def test_ngrams_are_the_runs_of_n_tokens_within_a_text(n: int) -> None:
    split = [text.split() for text in TEXTS]
    expected = [[" ".join(words[i : i + n]) for i in range(len(words) - n + 1)] for words in split]
    grams = ngrams(tokenise(pl.Series(TEXTS)), n)
    assert names_of(grams) == expected
    assert grams.n == n
    assert grams.names().to_list() == list(dict.fromkeys(name for text in expected for name in text))


def test_only_the_names_asked_for_are_written() -> None:
    grams = ngrams(tokenise(pl.Series(TEXTS)), 2)
    assert grams.names(np.array([2, 0])).to_list() == ["is sleeping", "a man"]


def test_number_of_threads_changes_no_ngram(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("cuecard.text.tokens"), "TOKENS_PER_THREAD", 10)
    rng = np.random.default_rng(0)
    tokens = tokenise(
        pl.Series([" ".join(rng.choice(list("abcdef"), rng.integers(0, 9))) for _ in range(300)])
    )
    alone, together = (ngrams(tokens, 3, threads=threads) for threads in (1, 5))
    np.testing.assert_array_equal(alone.ids, together.ids)
    np.testing.assert_array_equal(alone.offsets, together.offsets)
    np.testing.assert_array_equal(alone.members, together.members)


def test_an_ngram_of_no_tokens_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 1"):
        ngrams(tokenise(pl.Series(["a"])), 0)
