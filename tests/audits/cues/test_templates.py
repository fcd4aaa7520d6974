"""Sentences of one template: near copies of each other, each with a label of its own."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.demo_shapes import demo_template, repeated, with_weights

import cuecard as cc
from cuecard.audits import Cues
from cuecard.data import Instances

AUDIT = Cues(features=("word", "bigram"))


def has_cue(data: Instances) -> bool:
    return bool(AUDIT.run(data).summary["significant"])


def test_a_word_of_a_template_that_goes_with_the_label_is_a_cue_and_a_finding() -> None:
    data = demo_template(400, strength=0.85)
    assert len(set(data.units("hypothesis").tolist())) < 10
    result = AUDIT.run(data)
    cues = result.tables["cues"].filter("significant")
    assert set(cues.filter(pl.col("family") == "word")["feature"]) == {"good", "bad"}
    assert {finding.severity for finding in result.findings if finding.cue} == {"high"}


@pytest.mark.parametrize("near", [False, True])
def test_copies_of_sentences_of_a_template_are_not_independent(near: bool) -> None:
    """Each of 130 sentences three times, with one random label: 70 % of such sets have cues if that is not seen."""
    sets = [repeated(demo_template(130, strength=0.5, seed=s), 3, near=near, seed=s) for s in range(6)]
    assert sum(has_cue(data) for data in sets) <= 1


def test_random_labels_of_a_template_are_no_cue() -> None:
    assert sum(has_cue(demo_template(400, strength=0.5, seed=seed)) for seed in range(6)) <= 1


def test_weights_by_class_hide_no_word_of_a_template_and_make_none() -> None:
    """Taken for copies of one text, all sentences of a template count once and no word of it is ever significant."""
    audit = Cues(features=("word", "bigram"), weights="weight")
    weighted = [with_weights(demo_template(400, strength=s), "inverse_frequency") for s in (0.5, 0.85)]
    random, telling = (audit.run(data).tables["cues"].filter("significant") for data in weighted)
    assert random.is_empty()
    words = telling.filter(pl.col("family") == "word")
    assert set(words["feature"]) == {"good", "bad"}
    assert words["effective_n"].min() > 40


def test_weights_do_not_make_cues_of_templates_that_have_one_label_each() -> None:
    rng = np.random.default_rng(1)
    rows = []
    for label in ["yes", "no", "no"] * 4:
        words = [f"v{word}" for word in rng.integers(0, 150, 20)]
        for _ in range(100):
            words[2], words[9] = (f"slot{slot}" for slot in rng.integers(0, 36, 2))
            rows.append((f"p{len(rows)}", " ".join(words), label))
    table = pl.DataFrame(rows, schema=["premise", "hypothesis", "label"], orient="row")
    data = with_weights(cc.load(table), "inverse_frequency")
    cues = Cues(features=("word",), weights="weight").run(data).tables["cues"]
    assert cues["train_texts"].max() > 20  # the closest copies of a template, which count once all together
    assert not cues["significant"].any()


def test_sentences_of_a_template_that_were_not_linked_are_no_draws_of_their_own_under_weights() -> None:
    """Sentences that share 60 % of their words are linked by chance only, to a large unit and many small ones."""
    significant = []
    for seed in range(3):
        rng = np.random.default_rng([seed, 21])
        templates = [rng.choice(60, 9, replace=False) for _ in range(8)]
        rare, which = rng.random(8) < 0.35, rng.integers(0, 8, 400)
        rows = {
            "text": [
                " ".join([*(f"t{j}" for j in templates[k]), *(f"s{j}" for j in rng.integers(0, 100, 3))])
                for k in which
            ],
            "label": np.where(rare[which], "yes", "no"),
        }
        data = with_weights(cc.load(pl.DataFrame(rows)), "inverse_frequency")
        audit = Cues(features=("word", "bigram"), weights="weight")
        significant.append(audit.run(data).summary["significant"])
    assert significant == [0, 0, 0]


def test_the_order_of_rows_does_not_change_the_closest_copies() -> None:
    data = repeated(demo_template(60), 3, near=True)
    order = pl.Series(range(len(data))).shuffle(seed=1)
    turned = Instances(data.table[order], data.task, data.labels)
    of = dict(zip(data.table["example_id"], data.closest_units("hypothesis").tolist(), strict=True))
    again = dict(zip(turned.table["example_id"], turned.closest_units("hypothesis").tolist(), strict=True))
    pairs = {(of[name], again[name]) for name in of}
    assert len(pairs) == len(set(of.values())) == len(set(again.values()))


def test_closest_copies_are_copies_of_one_sentence_more_often_than_of_others() -> None:
    data = repeated(demo_template(130, seed=3), 3, near=True, seed=3)
    rows = data.table.select(
        sentence=pl.col("example_id").str.split("#").list.first(),
        unit=pl.Series(data.closest_units("hypothesis")),
    )
    together = rows.join(rows, on="unit").filter(pl.col("sentence") == pl.col("sentence_right")).height
    assert rows.join(rows, on="unit").height / 3 < together
    assert len(set(data.units("hypothesis").tolist())) < 40 < rows["unit"].n_unique() < 200
