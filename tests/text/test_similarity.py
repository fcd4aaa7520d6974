"""Similar texts: neighbours against brute force, groups of limited size, and when texts depend on each other."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.data.space import MEMORY, Space
from cuecard.stats import _native
from cuecard.text.similarity import (
    COMMON_WORD,
    DEPENDENT,
    DistinctTexts,
    NeighbourAgreement,
    _nearest_of_many,
    neighbour_agreement,
    similar_groups,
    similar_units,
)
from cuecard.text.tokens import Tokens


def tokens(texts: list[str]) -> Tokens:
    words = [text.split() for text in texts]
    vocabulary = pl.Series([word for text in words for word in text], dtype=pl.String).unique(
        maintain_order=True
    )
    place = {word: i for i, word in enumerate(vocabulary)}
    ids = np.array([place[word] for text in words for word in text], dtype=np.int32)
    return Tokens(
        ids, np.concatenate([[0], np.cumsum([len(text) for text in words])]).astype(np.int64), vocabulary
    )


def random_texts(n: int, seed: int = 0, words: int = 60) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{k}" for k in rng.integers(0, words, rng.integers(4, 12))) for _ in range(n)]


def similarity_of(one: list[str], other: list[str], weight: dict[str, float]) -> float:
    """The weight of the longest common subsequence over the geometric mean of the weights."""
    best = np.zeros((len(one) + 1, len(other) + 1))
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            best[i + 1, j + 1] = max(
                best[i, j + 1], best[i + 1, j], best[i, j] + weight[a] if a == b else 0.0
            )
    norm = np.sqrt(sum(weight[w] for w in one) * sum(weight[w] for w in other))
    return float(best[-1, -1] / norm)


def test_the_nearest_texts_are_those_of_brute_force():
    texts = random_texts(60)
    split = [text.split() for text in texts]
    weight = {
        word: np.log(len(texts) / sum(word in text for text in split)) + COMMON_WORD
        for word in {w for text in split for w in text}
    }
    encoded = tokens(texts)
    nearest, similarity = _native.nearest_texts(
        encoded.ids, encoded.offsets, np.arange(60), encoded.n_types, COMMON_WORD, 3, 60, 10**6
    )
    for i in range(60):
        every = sorted(
            ((similarity_of(split[i], split[j], weight), -j) for j in range(60) if j != i), reverse=True
        )
        assert similarity[i] == pytest.approx([s for s, _ in every[:3]], abs=1e-12)
        assert nearest[i, 0] == -every[0][1]


def test_some_texts_are_looked_up_as_all_are():
    encoded, asked = tokens(random_texts(80, seed=1)), np.array([3, 50, 7])
    options = (encoded.n_types, COMMON_WORD, 4, 20, 1_000)
    every = _native.nearest_texts(encoded.ids, encoded.offsets, np.arange(80), *options)
    some = _native.nearest_texts(encoded.ids, encoded.offsets, asked, *options)
    for whole, part in zip(every, some, strict=True):
        assert np.array_equal(whole[asked], part)


def edited(sources: int, times: int, share: float, seed: int) -> tuple[list[str], np.ndarray]:
    """Texts of which some words are replaced, and the source of each."""
    rng = np.random.default_rng(seed)
    texts = []
    for source in random_texts(sources, seed, words=400):
        for _ in range(times):
            words = np.array(source.split())
            replaced = rng.random(len(words)) < share
            words[replaced] = [f"w{k}" for k in rng.integers(0, 400, int(replaced.sum()))]
            texts.append(" ".join(words))
    return texts, np.repeat(np.arange(sources), times)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_edits_of_a_source_are_in_one_group_of_limited_size(share):
    texts, source = edited(150, 3, share, seed=2)
    alone = np.arange(len(texts))
    groups = similar_groups([DistinctTexts(tokens(texts), alone)], alone, largest=30, most=200)
    assert np.bincount(groups).max() <= 30
    together = [len(set(groups[source == s].tolist())) == 1 for s in range(150)]
    assert np.mean(together) >= 0.85


def test_a_group_that_is_large_to_begin_with_takes_in_similar_texts_up_to_a_limit():
    texts, _ = edited(40, 3, 0.1, seed=3)
    groups = np.where(np.arange(120) % 3 == 0, 0, np.arange(120))  # one text of every source is in group 0
    groups = np.unique(groups, return_inverse=True)[1]
    joined = similar_groups([DistinctTexts(tokens(texts), groups)], groups, largest=10, most=100)[groups]
    assert 80 <= np.bincount(joined).max() <= 100


def test_units_hold_few_texts():
    texts, source = edited(100, 3, 0.2, seed=4)
    units = similar_units(tokens(texts))
    assert np.bincount(units).max() <= 10
    assert np.mean([len(set(units[source == s].tolist())) == 1 for s in range(100)]) >= 0.85


def agreement_of(texts: list[str], labels: np.ndarray) -> NeighbourAgreement | None:
    shares = np.eye(2)[labels]
    return neighbour_agreement(tokens(texts), np.arange(len(texts)), shares.__getitem__, np.array([0.5, 0.5]))


def test_texts_of_one_source_and_label_depend_on_each_other():
    texts, source = edited(200, 3, 0.3, seed=5)
    labels = np.random.default_rng(5).integers(0, 2, 200)[source]
    agreement = agreement_of(texts, labels)
    assert agreement.dependent
    assert agreement.low <= agreement.correlation <= agreement.high


def test_texts_whose_words_go_with_a_label_do_not_depend_on_each_other():
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 2, 900)
    texts = [
        f"{text} cue{label if rng.random() < 0.7 else 1 - label}"
        for text, label in zip(random_texts(900, 6, words=400), labels, strict=True)
    ]
    agreement = agreement_of(texts, labels)
    assert not agreement.dependent
    assert agreement.correlation < DEPENDENT


@pytest.mark.parametrize("rows", [np.arange(600), np.arange(3, 550), np.arange(0, 600, 2)])
def test_nearest_texts_on_disk_are_those_in_memory(rows, tmp_path):
    texts, _ = edited(200, 3, 0.3, seed=7)
    asked = np.arange(0, len(rows), 5)
    on_disk = _nearest_of_many(tokens(texts), rows, asked, Space(tmp_path, rows=100))
    for one, other in zip(_nearest_of_many(tokens(texts), rows, asked, MEMORY), on_disk, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (on_disk[0] >= 0).any()


def test_few_texts_say_nothing():
    assert agreement_of(random_texts(20), np.zeros(20, int)) is None
