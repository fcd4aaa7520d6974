"""fastText as published: one bag of n-grams of one text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from told_sets import told_by_word

from cuecard.models import MODELS, load_model
from cuecard.models.examples import accuracy, examples_of
from cuecard.models.saliency import token_texts
from cuecard.run.training import dynamics_table


def test_premise_and_hypothesis_are_one_bag_and_survive_saving(tmp_path: Path) -> None:
    data = told_by_word(where="premise")
    model = MODELS.get("fasttext-plain")(ngrams=1).fit(data)
    unseen = told_by_word(100, seed=1, where="premise")
    assert accuracy(model.predict_proba(unseen), examples_of(unseen, model.labels_)) > 0.95
    exchanged = unseen.with_columns(premise=pl.col("hypothesis"), hypothesis=pl.col("premise"))
    np.testing.assert_allclose(model.predict_proba(exchanged), model.predict_proba(unseen), atol=1e-6)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert (again.predict_proba(unseen) == model.predict_proba(unseen)).all()


def test_every_ngram_counts_alike() -> None:
    data = told_by_word()
    model = MODELS.get("fasttext-plain")(epochs=1).fit(data)
    [block] = model.blocks(model.read(data))
    row = block[0].data
    np.testing.assert_allclose(row, np.full(len(row), 1 / len(row)))


def test_relevance_of_a_joined_text_is_given_to_the_words_of_each_text() -> None:
    data = told_by_word()
    model = MODELS.get("fasttext-plain")(ngrams=1).fit(data)
    maps = model.saliency(data)
    premises, hypotheses = token_texts(model, data)
    assert maps.premise_lengths.tolist() == [len(words) for words in premises]
    assert maps.hypothesis_lengths.tolist() == [len(words) for words in hypotheses]
    row = next(i for i, words in enumerate(hypotheses) if "never" in words)
    place = hypotheses[row].index("never")
    assert maps.hypothesis[row].argmax() == place
    assert maps.hypothesis[row, place] > maps.premise[row].max()


def test_dynamics_of_a_validation_set_follow_those_of_the_training_set(tmp_path: Path) -> None:
    data, dev = told_by_word(60), told_by_word(30, seed=1)
    options = {"validation": dev, "dynamics": True}
    model = MODELS.get("fasttext")(epochs=3).fit(data, **options)
    assert model.dynamics_.probability.shape == (3, 90)
    assert model.dynamics_.held_out.tolist() == [False] * 60 + [True] * 30
    alone = MODELS.get("fasttext")(epochs=1).fit(data, **options)
    gold = examples_of(dev, alone.labels_).gold
    np.testing.assert_allclose(
        alone.dynamics_.probability[0, 60:], alone.predict_proba(dev)[np.arange(30), gold], atol=1e-6
    )
    table = dynamics_table(model, data, dev)
    assert table["split"].to_list() == ["train"] * 60 + ["dev"] * 30
    resumed = MODELS.get("fasttext")(epochs=3).fit(data, checkpoint=tmp_path / "state", **options)
    assert (resumed.dynamics_.probability == model.dynamics_.probability).all()
