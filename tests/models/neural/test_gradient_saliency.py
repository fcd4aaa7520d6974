"""Saliency of torch models, against autograd one row at a time and against finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuecard.models import MODELS
from cuecard.models.saliency import aligned, relevance_agreement, token_texts
from planted_cues import TINY, cue_choices, cue_pairs
from small_sets import choice_instances, pair_instances
from tiny_checkpoint import tiny_checkpoint

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

NAMES = ["bilstm", "siamese-lstm", "esim", "transformer"]
QUICK = ["siamese-lstm", "transformer"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tiny_checkpoint(tmp_path_factory.mktemp("tiny"))
    known: dict[Any, Any] = {}

    def fit(name: str, condition: str, data: Any = None) -> Any:
        key = name, condition, data is None
        if key not in known:
            own = {"pretrained": str(folder), "learning_rate": 0.01} if name == "transformer" else TINY
            known[key] = MODELS.get(name)(**{**own, "epochs": 3}).fit(
                data or cue_pairs(), condition=condition
            )
        return known[key]

    return fit


def one_row(module: Any, batch: Any) -> tuple[list[float], list[float]]:
    """Norms of the gradient of the likeliest label's probability, by autograd, as lists of both texts."""
    embedded = [vectors.detach().requires_grad_() for vectors in module.embedded(batch)]
    outputs = module.forward_from(embedded, batch)
    chance = outputs.softmax(dim=1).max() if outputs.shape[1] > 1 else outputs.sum()
    chance.backward()
    sides: tuple[list[float], list[float]] = ([], [])
    for vectors, segments in zip(embedded, batch["segments"], strict=True):
        for gradient, segment in zip(vectors.grad[0], segments[0], strict=True):
            if segment:
                sides[int(segment) - 1].append(float(gradient.norm()))
    return sides


@pytest.mark.parametrize(
    ("name", "condition"),
    [(name, "full") for name in NAMES] + [(name, c) for name in QUICK for c in ("hypothesis", "premise")],
)
def test_maps_are_the_gradients_of_each_row_by_itself(fitted: Any, name: str, condition: str) -> None:
    model, data = fitted(name, condition), cue_pairs(8, seed=5)
    model.module_.double()
    try:
        maps = model.saliency(data)
        for rows, batch in model.batches(data, batch_size=1):
            premise, hypothesis = one_row(model.module_, batch)
            total = sum(premise) + sum(hypothesis)
            np.testing.assert_allclose(maps.premise[rows[0], : len(premise)] * total, premise, rtol=1e-6)
            np.testing.assert_allclose(
                maps.hypothesis[rows[0], : len(hypothesis)] * total, hypothesis, rtol=1e-6
            )
            assert maps.premise_lengths[rows[0]] == len(premise)
            assert maps.hypothesis_lengths[rows[0]] == len(hypothesis)
    finally:
        model.module_.float()
    words = token_texts(model, data)
    assert [len(row) for row in words[0]] == maps.premise_lengths.tolist()
    assert [len(row) for row in words[1]] == maps.hypothesis_lengths.tolist()


@pytest.mark.parametrize("name", ["esim", "transformer"])
def test_gradients_are_finite_differences_of_the_probability(fitted: Any, name: str) -> None:
    model, data = fitted(name, "full"), cue_pairs(1, seed=6)
    module, step = model.module_.double(), 1e-6
    try:
        maps = model.saliency(data)
        for rows, batch in model.batches(data, batch_size=1):
            embedded = [vectors.detach() for vectors in module.embedded(batch)]
            with torch.no_grad():
                predicted = int(module.forward_from(embedded, batch).argmax())
                sides: tuple[list[float], list[float]] = ([], [])
                for number, segments in enumerate(batch["segments"]):
                    for place, segment in enumerate(segments[0]):
                        slopes = []
                        for axis in range(embedded[number].shape[2]) if segment else ():
                            chances = []
                            for sign in (1, -1):
                                changed = [vectors.clone() for vectors in embedded]
                                changed[number][0, place, axis] += sign * step
                                outputs = module.forward_from(changed, batch)
                                chances.append(float(outputs.softmax(dim=1)[0, predicted]))
                            slopes.append((chances[0] - chances[1]) / (2 * step))
                        if segment:
                            sides[int(segment) - 1].append(float(np.linalg.norm(slopes)))
            found = np.concatenate([maps.premise[rows[0]], maps.hypothesis[rows[0]]])
            expected = np.array([*sides[0], *sides[1]])
            np.testing.assert_allclose(found[found > 0], expected / expected.sum(), rtol=1e-4)
    finally:
        module.float()


@pytest.mark.parametrize("name", QUICK)
def test_the_planted_word_matters_most(fitted: Any, name: str) -> None:
    model, data = fitted(name, "hypothesis"), cue_pairs(60, seed=7)
    maps = model.saliency(data)
    assert maps.premise.shape == (60, 0)
    told = data.table["hypothesis"].str.contains("nobody").to_numpy()
    likeliest = maps.hypothesis.argmax(axis=1) == maps.hypothesis_lengths - 1
    assert likeliest[told].mean() > 0.6


def test_a_model_that_is_very_sure_still_has_a_map(fitted: Any) -> None:
    model, data = fitted("siamese-lstm", "full"), cue_pairs(20, seed=8)
    before = model.saliency(data)
    with torch.no_grad():
        model.module_.last.weight.mul_(1e4)
    try:
        chances = model.predict_proba(data)
        sure = aligned(model.saliency(data), model.saliency(data))[0]
    finally:
        with torch.no_grad():
            model.module_.last.weight.div_(1e4)
    assert chances.max(axis=1).min() == 1
    np.testing.assert_allclose(sure.sum(axis=1), 1)
    np.testing.assert_allclose(sure, aligned(before, before)[0], atol=1e-3)


def test_the_rows_of_choices_have_maps(fitted: Any) -> None:
    choices = cue_choices(40)
    maps = fitted("siamese-lstm", "choices", choices).saliency(choices)
    np.testing.assert_allclose(maps.hypothesis.sum(axis=1), 1)


@pytest.mark.parametrize("name", ["bilstm", "siamese-lstm"])
def test_the_words_shown_of_a_long_question_are_those_read(name: str) -> None:
    model = MODELS.get(name)(**TINY, epochs=1, most_words=4).fit(cue_choices(20))
    data = choice_instances([("test", "red blue house tree dog cat", ["runs", "big " * 6 + "small"], 0)])
    premises, hypotheses = token_texts(model, data)
    assert premises == [["house", "tree", "dog", "cat"]] * 2
    assert hypotheses == [["runs"], ["big"] * 4]
    maps = model.saliency(data)
    assert [len(row) for row in premises] == maps.premise_lengths.tolist()
    assert [len(row) for row in hypotheses] == maps.hypothesis_lengths.tolist()
    [(rows, batch)] = model.batches(data)
    read = [model.vocabulary._names.gather(row).to_list() for row in batch["words"][0].numpy()]
    for row, words in zip(rows, read, strict=True):
        assert words[:4] == premises[row]


def test_conditions_share_a_tokeniser_where_the_texts_are_in_two_languages() -> None:
    rows = [("train", "一只狗在公园里跑来跑去", f"the dog {verb}", verb) for verb in ("runs", "sleeps")]
    data = pair_instances(rows * 6)
    asked = MODELS.get("siamese-lstm")
    full, partial = (asked(**TINY, epochs=1).fit(data, condition=c) for c in ("full", "hypothesis"))
    assert full.vocabulary.tokeniser == partial.vocabulary.tokeniser != "default"
    assert token_texts(full, data)[1] == token_texts(partial, data)[1]
    assert 0 <= relevance_agreement(full, partial, data).tra <= 1


def test_no_rows_have_no_maps(fitted: Any) -> None:
    maps = fitted("siamese-lstm", "full").saliency(cue_pairs(0))
    assert len(maps) == 0
