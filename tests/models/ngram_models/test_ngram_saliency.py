"""Relevance of words in models of n-grams, against finite differences feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from told_sets import as_texts, told_by_both, told_by_word, told_choices

from cuecard.models import MODELS
from cuecard.models.saliency import aligned, token_texts
from small_sets import pair_instances

STEP = 1e-5


def columns_of_ngrams(model: Any, block: str, ngrams: set[tuple[str, ...]]) -> dict[tuple[str, ...], int]:
    """The column of every n-gram in a kind of features, found by reading a text that is the n-gram."""
    place = list(model.feature_blocks()).index(block)
    found: dict[tuple[str, ...], int] = {}
    for ngram in sorted(ngrams, key=len):
        text = " ".join(ngram)
        matrix = model.blocks(model.read(pair_instances([("test", text, text, "x")])))[place]
        shorter = {found.get(ngram[i:j]) for i in range(len(ngram)) for j in range(i + 1, len(ngram) + 1)}
        new = set(matrix.indices.tolist()) - shorter
        if new:
            [found[ngram]] = new
    return found


def brute_force(model: Any, data: Any, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Norms of finite differences of the predicted probability over the features that each word is part of."""
    (premises, hypotheses), rows = token_texts(model, data), model.read(data)
    words = {"premise": premises[row], "hypothesis": hypotheses[row]}
    matrix = model.features(rows)[[row]].toarray()
    predicted = softmax(model.margins(_sparse(matrix)), axis=1)[0].argmax()
    squares = {side: np.zeros(len(words[side])) for side in words}
    first = 0
    for (name, (kind, _)), block in zip(model.feature_blocks().items(), model.blocks(rows), strict=True):
        sizes = range(1, getattr(kind, "ngrams", 0) + 1)
        side = getattr(kind, "side", None)
        if side is not None:
            for n in sizes:
                spans = [range(i, i + n) for i in range(len(words[side]) - n + 1)]
                ngrams = [tuple(words[side][t] for t in span) for span in spans]
                every = {gram[i:j] for gram in ngrams for i in range(n) for j in range(i + 1, n + 1)}
                columns = columns_of_ngrams(model, name, every)
                for gram in set(ngrams) & set(columns):
                    slope = difference(model, matrix, first + columns[gram], predicted)
                    members = {
                        t for span, own in zip(spans, ngrams, strict=True) if own == gram for t in span
                    }
                    for t in members:
                        squares[side][t] += slope**2
        elif name == "shared words":
            for word in set(words["hypothesis"]):
                shared = word in words["premise"]
                alone = pair_instances([("test", word if shared else "", word, "x")])
                own = model.blocks(model.read(alone))[list(model.feature_blocks()).index(name)].indices
                for column in own:
                    slope = difference(model, matrix, first + column, predicted)
                    for side in ("premise", "hypothesis"):
                        squares[side] += slope**2 * (np.array(words[side]) == word)
        first += block.shape[1]
    return np.sqrt(squares["premise"]), np.sqrt(squares["hypothesis"])


def _sparse(matrix: Any) -> Any:
    from scipy import sparse

    return sparse.csr_matrix(matrix)


def difference(model: Any, matrix: np.ndarray, column: int, predicted: int) -> float:
    values = []
    for sign in (1, -1):
        changed = matrix.copy()
        changed[0, column] *= 1 + sign * STEP
        margins = model.margins(_sparse(changed.astype(np.float64)))
        values.append(softmax(margins, axis=1)[0, predicted])
    return (values[0] - values[1]) / (2 * STEP)


@pytest.mark.parametrize("condition", ["full", "hypothesis", "premise"])
def test_linear_maps_are_the_finite_differences_of_the_prediction(condition: Any) -> None:
    data = told_by_word(120)
    rows = [
        ("test", "the dog runs", "no no no dog never never", "neutral"),
        ("test", "the cat the cat sleeps", "the cat sleeps outside", "neutral"),
        ("test", "quagga", "the okapi waits never", "neutral"),
    ]
    asked = pair_instances(rows)
    model = MODELS.get("linear")(strength=10.0).fit(data, condition=condition)
    maps = model.saliency(asked)
    for row in range(len(rows)):
        premise, hypothesis = brute_force(model, asked, row)
        total = premise.sum() + hypothesis.sum()
        if total == 0:
            assert not maps.premise[row].any()
            assert not maps.hypothesis[row].any()
            continue
        np.testing.assert_allclose(maps.premise[row, : len(premise)], premise / total, atol=1e-6)
        np.testing.assert_allclose(maps.hypothesis[row, : len(hypothesis)], hypothesis / total, atol=1e-6)
    assert maps.premise.shape[1] == (0 if condition == "hypothesis" else 5)
    assert maps.hypothesis.shape[1] == (0 if condition == "premise" else 6)


def test_fasttext_maps_are_the_gradient_of_its_gains() -> None:
    """A linear model that adds the same to the margins has the same maps."""
    data = told_by_both(200)
    fast = MODELS.get("fasttext")(dimensions=8).fit(data)
    matrix = fast.features(fast.read(data))
    np.testing.assert_allclose(fast.margins(matrix), matrix @ fast.gains() + fast.bias_, atol=1e-4)
    maps = fast.saliency(data)
    total = maps.premise.sum(axis=1) + maps.hypothesis.sum(axis=1)
    np.testing.assert_allclose(total, 1)
    # Both nouns decide, so they matter most in each text.
    assert (maps.hypothesis.argmax(axis=1) == 1).mean() > 0.9


@pytest.mark.parametrize("name", ["linear", "fasttext"])
def test_the_word_that_tells_the_label_matters_most(name: str) -> None:
    data = told_by_word(300)
    told = (
        data.table["hypothesis"].str.ends_with("outside") | data.table["hypothesis"].str.ends_with("never")
    ).to_numpy()
    maps = MODELS.get(name)().fit(data, condition="hypothesis").saliency(data)
    last = maps.hypothesis_lengths - 1
    assert (maps.hypothesis.argmax(axis=1) == last)[told].mean() > 0.95


@pytest.mark.parametrize("name", ["linear", "fasttext"])
def test_choices_and_single_texts_have_maps_too(name: str) -> None:
    choices = told_choices(60)
    maps = MODELS.get(name)().fit(choices, condition="choices").saliency(choices)
    right = choices.label_codes == 0
    assert (maps.hypothesis.argmax(axis=1) == 3)[right].all()
    assert maps.premise.shape == (len(choices), 0)
    texts = as_texts(told_by_word(60))
    np.testing.assert_allclose(MODELS.get(name)().fit(texts).saliency(texts).hypothesis.sum(axis=1), 1)


def test_the_absent_text_is_zeros_in_aligned_maps() -> None:
    data = told_by_word(90)
    full, partial = (
        MODELS.get("linear")().fit(data, condition=c).saliency(data) for c in ("full", "hypothesis")
    )
    one, other = aligned(full, partial)
    assert one.shape == other.shape == (90, 3 + 4)
    assert not other[:, :3].any()
    assert one[:, :3].any()
    np.testing.assert_array_equal(other[:, 3:], partial.hypothesis)
