"""Accuracy on the examples that no partial input gives away, and on the others."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.card.card import value_of
from cuecard.data import Examples
from cuecard.errors import UsageError
from cuecard.remedies import stress_set
from cuecard.report.charts.kinds import draw
from cuecard.report.sections import section_view
from cuecard.report.verdict import model_headline
from small_sets import pair_instances


def leaking(n: int = 400, *, leak: float = 0.5, seed: int = 0) -> cc.Instances:
    """Return pairs of which a part has the label's own word in the hypothesis."""
    rng = np.random.default_rng(seed)
    rows = []
    for split, size in (("train", n), ("test", n)):
        for i in range(size):
            label = ("yes", "no")[int(rng.integers(0, 2))]
            words = [f"w{k}" for k in rng.integers(0, 60, 5)]
            if rng.random() < leak:
                words.append("sun" if label == "yes" else "rain")
            rows.append((split, f"premise {split} {i}", " ".join(words), label))
    return pair_instances(rows)


def shortcut(data: cc.Instances) -> pl.DataFrame:
    """Return the answers of a model that follows the word and tosses a coin without it."""
    texts = data.test.table["hypothesis"].to_list()
    coin = np.random.default_rng(9).integers(0, 2, len(texts))
    answers = [
        "yes" if "sun" in text else "no" if "rain" in text else ("yes", "no")[c]
        for text, c in zip(texts, coin, strict=True)
    ]
    return pl.DataFrame({"prediction": answers})


def test_a_model_that_follows_the_leak_is_at_chance_on_the_hard_subset():
    data = leaking()
    gold = [data.test.labels[i] for i in Examples(data.test).gold]
    models = {"shortcut": shortcut(data), "oracle": pl.DataFrame({"prediction": gold})}
    card = cc.probe(data, models, only=["hard_subset"])
    assert value_of(card, "hard_subset.easy.shortcut") > 0.95
    hard = card.measure("hard_subset.hard.shortcut")
    assert hard.low < 0.5 < hard.high
    assert card.measure("hard_subset.difference.shortcut").low > 0.3
    assert value_of(card, "hard_subset.hard.oracle") == value_of(card, "hard_subset.easy.oracle") == 1.0
    by_model = {
        finding.title.split()[0]: finding for finding in card.findings if finding.section == "hard_subset"
    }
    assert by_model["shortcut"].severity == "medium"
    assert by_model["Accuracy"].severity == "info"
    headline = model_headline(card).replace("\N{NO-BREAK SPACE}", " ")
    assert "oracle has an accuracy of 100 % on the hard subset and 100 % on the easy one" in headline
    view = section_view(card, "hard_subset")
    assert "shortcut has an accuracy of" in view.lead[1]
    assert draw(view.charts[0]).to_dict()


def test_the_subset_is_the_one_that_stress_writes():
    data = leaking()
    card = cc.probe(data, {"shortcut": shortcut(data)}, only=["hard_subset"])
    audited = cc.audit(data, only=["partial_input"])
    parts = stress_set(data, audited.tables["examples"]).examples.filter(split="test")
    marked = card.tables["examples"].filter(pl.col("split").cast(pl.String) == "test")
    joined = marked.join(parts, on="example_id")
    assert joined.height == 400
    assert (joined["subset"] == joined["part"]).all()


def test_the_loss_of_a_model_of_partial_input_is_no_finding():
    card = cc.probe(leaking(), models=["linear-hypothesis"], only=["hard_subset"])
    assert card.measure("hard_subset.difference.linear-hypothesis").low > 0.3
    assert [finding.severity for finding in card.findings if finding.section == "hard_subset"] == ["info"]


def test_without_a_leak_there_is_no_easy_subset_to_compare_with():
    data = leaking(leak=0.0)
    with pytest.raises(UsageError, match="needs at least 5 easy test examples"):
        cc.probe(data, {"shortcut": shortcut(data)}, only=["hard_subset"])


@pytest.mark.parametrize("alike", [0.0, 1.0])
def test_shared_premises_widen_the_intervals_if_answers_to_them_go_together(alike):
    data = leaking()
    rng = np.random.default_rng(4)
    unit = np.arange(400) // 8
    table = data.table.with_columns(
        premise=pl.when(pl.col("split").cast(pl.String) == "test")
        .then(pl.format("a shared premise number {}", pl.Series([*range(400), *unit])))
        .otherwise("premise")
    )
    data = cc.Instances(table, data.task, data.labels, data.name)
    right = np.where(rng.random(400) < alike, (rng.random(50) < 0.5)[unit], rng.random(400) < 0.5)
    gold = Examples(data.test).gold
    answers = pl.DataFrame({"prediction": [data.labels[i] for i in np.where(right, gold, 1 - gold)]})
    hard = cc.probe(data, {"m": answers}, only=["hard_subset"]).measure("hard_subset.hard.m")
    plain = 2 * 1.96 * np.sqrt(0.25 / hard.n)
    assert ((hard.high - hard.low) / plain > 1.5) == bool(alike)
