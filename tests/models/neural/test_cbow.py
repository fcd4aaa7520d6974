"""Word vectors from texts: words used alike are alike, and weights say which texts count."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.models.neural.word_vectors import FIRST_WORD, Vocabulary, cbow_vectors
from cuecard.text import tokenise

COLOURS, ANIMALS = ["red", "blue", "green"], ["dog", "cat", "cow"]


def used_alike(seed: int = 0) -> list[str]:
    generator = np.random.default_rng(seed)
    texts = [f"the {generator.choice(COLOURS)} car drives fast on roads" for _ in range(1500)]
    return texts + [f"my old {generator.choice(ANIMALS)} sleeps in a warm bed" for _ in range(1500)]


def vectors_of(
    texts: list[str], weights: npt.ArrayLike | None = None, seed: int = 0
) -> tuple[Vocabulary, object]:
    read = tokenise(pl.Series(texts))
    vocabulary = Vocabulary.learn([read], tokeniser="default", min_count=1)
    weight = np.ones(len(texts)) if weights is None else np.asarray(weights, np.float64)
    tokens = vocabulary.read(read)
    return vocabulary, cbow_vectors([tokens], weight, len(vocabulary), 16, seed=seed)


def likeness(vocabulary: Vocabulary, vectors: object, a: str, b: str) -> float:
    found = np.asarray(vectors)
    u, v = (found[FIRST_WORD + vocabulary.words.index(word)] for word in (a, b))
    return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))


def test_words_used_alike_have_vectors_alike() -> None:
    known = vectors_of(used_alike())
    within = [likeness(*known, a, b) for group in (COLOURS, ANIMALS) for a in group for b in group if a < b]
    across = [likeness(*known, a, b) for a in COLOURS for b in ANIMALS]
    assert min(within) > max(across) + 0.2


def test_one_seed_gives_one_result_and_marks_have_no_vector() -> None:
    _, first = vectors_of(used_alike())
    _, again = vectors_of(used_alike())
    _, other = vectors_of(used_alike(), seed=1)
    assert (np.asarray(first) == np.asarray(again)).all()
    assert (np.asarray(first) != np.asarray(other)).any()
    assert not np.asarray(first)[[0, 2]].any()


def test_texts_of_no_weight_teach_nothing() -> None:
    texts = used_alike() + [f"the {word} car drives fast on roads" for word in ANIMALS for _ in range(500)]
    counted = np.concatenate([np.ones(3000), np.zeros(1500)])
    far = vectors_of(texts, counted)
    near = vectors_of(texts, np.concatenate([np.ones(1500), np.zeros(1500), np.ones(1500)]))
    assert likeness(*far, "dog", "red") < likeness(*near, "dog", "red") - 0.2


def test_no_text_at_all_gives_vectors_all_the_same() -> None:
    vocabulary, vectors = vectors_of(["", "?"])
    assert np.asarray(vectors).shape == (len(vocabulary), 16)
    assert np.isfinite(np.asarray(vectors)).all()
