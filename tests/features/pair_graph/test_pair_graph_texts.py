"""DeepWalk on planted communities; BLEU against NLTK; word classes against a parser's tags."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.features.pair_graph import (
    UNLEXICALIZED_FEATURES,
    advanced_features,
    bleu_scores,
    deepwalk,
    pair_graph,
    unlexicalized_features,
)
from cuecard.text import tokenise
from cuecard.text.annotate.word_roles import WORD_CLASSES, word_classes


def two_communities(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    side = rng.integers(0, 2, 400)
    return rng.integers(0, 30, 400) + 30 * side, rng.integers(0, 30, 400) + 30 * side


def test_deepwalk_brings_sentences_of_one_community_together() -> None:
    first, second = two_communities(0)
    vectors = deepwalk(pair_graph(first, second, 60), dimensions=16, walks=5, length=20)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    same = np.add.outer(np.arange(60) // 30, np.arange(60) // 30) % 2 == 0
    apart = cosines[~same].mean()
    assert cosines[same & ~np.eye(60, dtype=bool)].mean() > apart + 0.3


def test_deepwalk_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    graph = pair_graph(*two_communities(1))
    one, same, other = (deepwalk(graph, dimensions=8, walks=2, length=10, seed=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_there_are_77_advanced_features_and_the_last_of_the_embedding_is_a_dot_product() -> None:
    table = advanced_features(pair_graph(*two_communities(2)))
    assert table.shape == (400, 77)
    np.testing.assert_allclose(table[:, 72], table[:, 8:72].sum(axis=1), rtol=1e-6)


def test_bleu_is_that_of_nltk() -> None:
    sentence_bleu = pytest.importorskip("nltk.translate.bleu_score").sentence_bleu
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcde"), rng.integers(1, 15))) for _ in range(300)]
    references = [" ".join(rng.choice(list("abcde"), rng.integers(1, 15))) for _ in range(300)]
    both = tokenise(pl.Series(texts + references))
    split = both.offsets[300]
    ours = bleu_scores(
        type(both)(both.ids[:split], both.offsets[:301], both.vocabulary),
        type(both)(both.ids[split:], both.offsets[300:] - split, both.vocabulary),
    )
    for n in range(1, 5):
        weights = (1 / n,) * n
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # NLTK warns where a score is 0
            theirs = [
                sentence_bleu([r.split()], t.split(), weights) for t, r in zip(texts, references, strict=True)
            ]
        np.testing.assert_allclose(ours[:, n - 1], theirs, atol=1e-12)
    assert (ours[:, 3] > 0).any()


def test_overlap_counts_distinct_words_by_class() -> None:
    table = pl.DataFrame(
        {
            "example_id": ["a"], "position": [0], "split": ["train"], "label": ["x"],
            "premise": ["The old dog slowly eats a red apple"], "hypothesis": ["A dog slowly eats an apple, a dog!"],
        }
    )  # fmt: skip
    data = Instances(table.with_columns(pl.col("label").cast(pl.Enum(["x"]))), "pair", ("x",))
    found = dict(zip(UNLEXICALIZED_FEATURES, unlexicalized_features(data)[0].tolist(), strict=True))
    assert len(UNLEXICALIZED_FEATURES) == 15
    assert found["length_difference"] == 0
    assert found["word_overlap"] == 5  # a, dog, slowly, eats, apple
    assert found["word_overlap_rate"] == pytest.approx(5 / 6)  # of these and "an"
    assert (found["noun_overlap"], found["verb_overlap"], found["adverb_overlap"]) == (2, 1, 1)
    assert (found["adjective_overlap"], found["adjective_overlap_rate"]) == (0, 0)
    released = unlexicalized_features(data, by_product=True)[0]
    assert released[UNLEXICALIZED_FEATURES.index("word_overlap_rate")] == pytest.approx(
        5 / 64
    )  # 8 words each
    assert released[UNLEXICALIZED_FEATURES.index("noun_overlap_rate")] == pytest.approx(2 / 64)


def test_an_empty_text_has_finite_features() -> None:
    table = pl.DataFrame(
        {
            "example_id": ["a"],
            "position": [0],
            "split": ["train"],
            "label": ["x"],
            "premise": [""],
            "hypothesis": [""],
        }
    )
    data = Instances(table.with_columns(pl.col("label").cast(pl.Enum(["x"]))), "pair", ("x",))
    assert np.isfinite(unlexicalized_features(data)).all()


def test_word_classes_agree_with_a_parser(oracle: Callable[[str], Path]) -> None:
    tags = (
        pl.read_parquet(oracle("spacy_en_annotations.parquet"))
        .select("tokens", "tags")
        .explode("tokens", "tags")
    )
    groups = {"NN": "noun", "VB": "verb", "JJ": "adjective", "RB": "adverb"}
    theirs = tags["tags"].str.slice(0, 2).replace_strict(groups, default="other").to_numpy()
    words = tags["tokens"].str.to_lowercase()
    vocabulary = words.unique(maintain_order=True)
    names = np.array([*WORD_CLASSES, "other"])[word_classes(vocabulary.to_list())]
    ours = words.replace_strict(vocabulary, pl.Series(names)).to_numpy()
    agreement = (ours == theirs).mean()
    expected = sum((ours == kind).mean() * (theirs == kind).mean() for kind in np.unique(theirs))
    assert agreement > 0.85
    assert (agreement - expected) / (1 - expected) > 0.78
