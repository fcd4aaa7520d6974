from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from cuecard.data.space import tree
from cuecard.text import ngrams, presence, presence_counts, tokenise, within_example_counts

texts_and_labels = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdefgh"), max_size=6).map(" ".join), st.integers(-1, 2)),
    max_size=30,
)


@settings(max_examples=100, deadline=None)
@given(rows=texts_and_labels)
def test_a_type_counts_once_per_text_under_its_label(rows: list[tuple[str, int]]) -> None:
    tokens = tokenise(pl.Series([text for text, _ in rows], dtype=pl.String))
    counts = presence_counts(tokens, np.array([label for _, label in rows], dtype=np.int32), 3)
    expected = Counter((word, label) for text, label in rows for word in set(text.split()) if label >= 0)
    assert counts.shape == (tokens.n_types, 3)
    assert {
        (word, label): n
        for word, of_word in zip(tokens.vocabulary, counts.tolist(), strict=True)
        for label, n in enumerate(of_word)
        if n
    } == expected


def test_bigram_counts_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(["aa", "bb", "cc", "dd"], 6)) for _ in range(200)]
    labels = rng.integers(0, 2, 200)
    vectorizer = CountVectorizer(binary=True, ngram_range=(2, 2))
    matrix = vectorizer.fit_transform(texts)
    grams = ngrams(tokenise(pl.Series(texts)), 2)
    ours = dict(zip(grams.names(), presence_counts(grams, labels.astype(np.int32), 2).tolist(), strict=True))
    theirs = {
        name: [int(matrix[labels == label, column].sum()) for label in (0, 1)]
        for name, column in vectorizer.vocabulary_.items()
    }
    assert ours == theirs


def test_number_of_threads_changes_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cuecard.text.tokens.COUNTED_PER_THREAD", 10)
    rng = np.random.default_rng(2)
    tokens = tokenise(
        pl.Series([" ".join(rng.choice(list("abcdef"), rng.integers(0, 9))) for _ in range(300)])
    )
    labels = rng.integers(0, 3, 300).astype(np.int32)
    labels.flags.writeable = False
    alone = presence_counts(tokens, labels, 3, threads=1)
    np.testing.assert_array_equal(presence_counts(tokens, labels, 3, threads=4), alone)


@pytest.mark.parametrize("parts", [1, 2, 3, 8])
def test_counts_of_parts_are_merged_as_a_tree(parts, monkeypatch):
    rng = np.random.default_rng(parts)
    tokens = tokenise(pl.Series([" ".join(rng.choice(list("abcdef"), 6)) for _ in range(200)]))
    labels = rng.integers(-1, 3, 200).astype(np.int32)
    alone = presence_counts(tokens, labels, 3)
    monkeypatch.setattr("cuecard.text.tokens.COUNTED_PER_THREAD", 1)
    np.testing.assert_array_equal(
        presence_counts(tokens.rows(50, 200), labels[50:], 3, threads=parts),
        alone - presence_counts(tokens.rows(0, 50), labels[:50], 3),
    )
    assert tree([[i] for i in range(parts)], list.__add__) == [*range(parts)]


def test_presence_holds_the_distinct_types_of_every_text() -> None:
    tokens = tokenise(pl.Series(["a b a", "", "c a c c", "b"]))
    indptr, indices = presence(tokens)
    assert indptr.tolist() == [0, 2, 2, 4, 5]
    assert tokens.vocabulary.gather(indices).to_list() == ["a", "b", "c", "a", "b"]


@settings(max_examples=100, deadline=None)
@given(
    examples=st.lists(
        st.lists(st.sets(st.integers(0, 4), max_size=4), min_size=1, max_size=4).flatmap(
            lambda rows: st.tuples(st.just(rows), st.integers(0, len(rows) - 1))
        ),
        max_size=25,
    )
)
def test_within_example_counts_equal_counting_by_hand(examples: list[tuple[list[set[int]], int]]) -> None:
    table: dict[tuple[int, int, int], list[int]] = defaultdict(lambda: [0, 0])
    for rows, right in examples:
        for feature in set().union(*rows):
            entry = table[feature, len(rows), sum(feature in row for row in rows)]
            entry[0] += 1
            entry[1] += feature in rows[right]
    flat = [(i, row, k == right) for i, (rows, right) in enumerate(examples) for k, row in enumerate(rows)]
    result = within_example_counts(
        np.cumsum([0, *(len(row) for _, row, _ in flat)]),
        np.array([feature for _, row, _ in flat for feature in row], dtype=np.int32),
        np.array([example for example, _, _ in flat], dtype=np.int64),
        np.array([right for _, _, right in flat], dtype=np.bool_),
        5,
    )
    keys = list(zip(result.feature.tolist(), result.size.tolist(), result.having.tolist(), strict=True))
    assert keys == sorted(table)
    counts = zip(result.n_examples.tolist(), result.n_right.tolist(), strict=True)
    assert dict(zip(keys, map(list, counts), strict=True)) == table
