from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from cuecard.models.linear.ngram_features import (
    BITS,
    count_documents,
    feature_rows,
    frequent_columns,
    hash_rows,
    word_keys,
    word_overlap,
)
from cuecard.text import Tokens, tokenise

TEXTS = [
    "a man is sleeping",
    "a man is not sleeping a man",
    "nobody is here",
    "",
    "the man is here",
    "man man man",
    "unseen words only",
    "is here a man",
]


def ngram_features(texts, *, ngrams=2, shared=None, counted=None, min_count=2):
    """Return the features of rows; document frequencies are counted on some of them."""
    hashed = hash_rows(texts, ngrams=ngrams, shared=shared)
    counted = np.ones(len(hashed.starts), np.bool_) if counted is None else counted
    frequency = np.zeros(1 << BITS, dtype=np.int32)
    count_documents(hashed, counted, frequency)
    return feature_rows(hashed, frequent_columns(frequency, int(counted.sum()), min_count=min_count))


def both(first: list[str], second: list[str]) -> tuple[Tokens, Tokens]:
    joined = tokenise(pl.Series(first + second))
    cut, n = joined.offsets[len(first)], len(first)
    premise = Tokens(joined.ids[:cut], joined.offsets[: n + 1], joined.vocabulary)
    return premise, Tokens(joined.ids[cut:], joined.offsets[n:] - cut, joined.vocabulary)


@pytest.mark.parametrize("ngrams", [1, 2, 3])
@pytest.mark.parametrize("min_count", [1, 2])
def test_rows_are_those_of_a_binary_tf_idf_vectoriser(ngrams, min_count):
    ours = ngram_features([tokenise(pl.Series(TEXTS))], ngrams=ngrams, min_count=min_count)
    vectoriser = TfidfVectorizer(
        ngram_range=(1, ngrams), binary=True, min_df=min_count, token_pattern=r"\b\w+\b"
    )
    theirs = vectoriser.fit_transform(TEXTS)
    assert ours.shape == theirs.shape
    # Columns are in another order; inner products of rows do not depend on it.
    np.testing.assert_allclose((ours @ ours.T).toarray(), (theirs @ theirs.T).toarray(), atol=1e-12)


def test_frequencies_are_counted_on_the_counted_rows_only():
    counted = np.array([True] * 6 + [False] * 2)
    ours = ngram_features([tokenise(pl.Series(TEXTS))], counted=counted, min_count=1)
    vectoriser = TfidfVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\b\w+\b").fit(TEXTS[:6])
    theirs = vectoriser.transform(TEXTS)
    np.testing.assert_allclose((ours @ ours.T).toarray(), (theirs @ theirs.T).toarray(), atol=1e-12)
    assert ours[6].nnz == 0


def test_the_same_word_in_premise_and_hypothesis_is_two_features():
    premise, hypothesis = both(["dog runs"], ["dog sleeps"])
    matrix = ngram_features([premise, hypothesis], ngrams=1, min_count=1)
    assert matrix.shape == (1, 4)


def test_a_shared_word_is_another_feature_than_the_same_word_not_shared():
    pair = both(["a dog runs", "a cat sits", "no dog"], ["dog dog", "dog", "dog cat"])
    matrix = ngram_features([], shared=pair, min_count=1).toarray() > 0
    assert matrix.sum(axis=1).tolist() == [1, 1, 2]
    assert np.array_equal(matrix[0], matrix[2] & matrix[0])
    assert not (matrix[0] & matrix[1]).any()


def test_a_word_is_known_by_the_same_number_in_every_vocabulary_and_version():
    """Saved models hold features of these numbers: another hash would make them read noise."""
    keys = word_keys(pl.Series(["dog", "été", "", "no"]))
    assert keys.tolist() == [3152677781184638308, 8204246449255130306, 0, 5222143800280302146]
    assert word_keys(pl.Series(["no", "dog"])).tolist() == [keys[3], keys[0]]
    assert len(set(word_keys(pl.Series([str(i) for i in range(100_000)])).tolist())) == 100_000


def test_overlap_counts_distinct_words_as_sets_do():
    rng = np.random.default_rng(0)
    words = ["a", "b", "c", "d", "e"]
    texts = [" ".join(rng.choice(words, size=rng.integers(0, 6))) for _ in range(80)]
    premise, hypothesis = both(texts[:40], texts[40:])
    shared, distinct = word_overlap(premise, hypothesis)
    for i in range(40):
        first, second = set(texts[i].split()), set(texts[40 + i].split())
        assert (shared[i], distinct[i]) == (len(first & second), len(second))
