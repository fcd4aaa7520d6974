"""Benchmarks without a training set, and predictions about more than the test examples."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.card.card import slices
from cuecard.data import Examples
from cuecard.errors import InputError
from cuecard.probes.predictions import read_many_predictions, read_one_file
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.report.verdict import model_figures, model_headline
from small_sets import choice_instances, pair_instances


def benchmark(n: int = 60) -> cc.Instances:
    rng = np.random.default_rng(0)
    rows = [
        (
            "train",
            f"question {i}",
            [f"right word{i}", f"other word{i} more", "third one"],
            int(rng.integers(0, 3)),
        )
        for i in range(n)
    ]
    return choice_instances(rows)


def test_one_file_is_halved_and_predictions_follow_their_examples():
    data = benchmark()
    examples = Examples(data)
    table = pl.DataFrame({"id": examples.ids.cast(pl.String), "prediction": examples.gold}).reverse()
    halves, [model], note = read_one_file([("oracle", table)], data, seed=3)
    assert (halves.train.n_examples, halves.test.n_examples) == (30, 30)
    assert not set(halves.train.table["example_id"]) & set(halves.test.table["example_id"])
    assert model.correct(Examples(halves.test)).all()
    assert "one half of its examples" in note
    in_order = pl.DataFrame({"prediction": examples.gold})
    _, [model], _ = read_one_file([("oracle", in_order)], data, seed=3)
    assert model.correct(Examples(halves.test)).all()


def test_the_card_of_one_file_says_so():
    data = benchmark()
    table = pl.DataFrame({"prediction": Examples(data).gold})
    card = cc.probe(data, {"oracle": table}, only=["option_order"])
    assert any("no training set" in note for note in card.dataset.notes)


def test_of_many_models_the_headline_names_the_most_accurate_and_counts_the_rest():
    data = benchmark()
    gold = Examples(data).gold
    rng = np.random.default_rng(1)
    answers = {
        f"m{i}": np.where(rng.random(len(gold)) < 0.3 + 0.1 * i, gold, (gold + 1) % 3) for i in range(6)
    }
    models = {name: pl.DataFrame({"prediction": one}) for name, one in answers.items()}
    card = cc.probe(data, models, only=["reliance", "accuracy_test"])
    accuracies = slices(card, "accuracy_test.accuracy")
    best = max(accuracies, key=lambda name: accuracies[name].value)
    headline = model_headline(card)
    assert f"{best} on" in headline
    assert "3 other models on none" in headline
    assert sum("read as" in note for note in card.dataset.notes) == 1
    assert best in model_figures(card)[0].label


def test_too_few_examples_are_not_halved():
    table = pl.DataFrame({"prediction": [0] * 8})
    with pytest.raises(InputError, match="8 examples are too few"):
        read_one_file([("m", table)], benchmark(8))


def test_surplus_ids_are_left_out_where_the_user_says_so():
    rows = [("train", f"p{i}", f"h{i}", "ab"[i % 2]) for i in range(4)]
    data = pair_instances(rows + [("test", f"q{i}", f"g{i}", "ab"[i % 2]) for i in range(4)])
    ids = [*Examples(data.test).ids.cast(pl.String).to_list(), "elsewhere"]
    table = pl.DataFrame({"id": ids, "prediction": ["a", "b", "a", "b", "a"]})
    with pytest.raises(InputError, match="--surplus-ids"):
        read_many_predictions([("m", table)], data)
    _, [model] = read_many_predictions([("m", table)], data, surplus_ids=True)
    assert model.correct(Examples(data.test)).all()
    assert "1 prediction with an id that no test example has" in " ".join(model.notes)


def test_sentences_of_one_file_name_the_half_and_not_a_training_set():
    rng = np.random.default_rng(5)
    rows = []
    for i in range(300):
        label = ("yes", "no")[int(rng.integers(0, 2))]
        word = "sun" if (label == "yes") == (rng.random() < 0.85) else "rain"
        rows.append(
            ("train", f"premise {i}", f"{word} w{rng.integers(0, 200)} v{rng.integers(0, 200)}", label)
        )
    data = pair_instances(rows)
    answers = ["yes" if "sun" in text else "no" for text in data.table["hypothesis"]]
    sections = ["distribution_test", "reliance", "permutation_test"]
    card = cc.probe(data, {"m": pl.DataFrame({"prediction": answers})}, only=sections)
    view = section_view(card, "distribution_test")
    texts = [finding.text for finding in card.findings if finding.section == "distribution_test"]
    assert texts
    assert all("In the half that the cues come from, " in text for text in texts)
    captions = [*view.lead, *(chart.caption for chart in view.charts), *(chart.alt for chart in view.charts)]
    assert not any("training set" in text for text in [*texts, *captions])
    reliance = section_view(card, "reliance")
    assert [column.title for column in reliance.tables[0].columns].count("Cue half") == 1
    assert not any("debias" in text for text in [*reliance.lead, *card.tables["reliance"]["next"]])
    words = section_view(card, "permutation_test")
    assert "The usual label of a word is that in the half that the cues come from." in words.notes
    assert "half that the cues come from (with the cue)" in str(draw(view.charts[0]).to_dict())
