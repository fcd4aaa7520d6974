"""Choices are always probed for length and position; models that avoid a cue, or only follow length, are told apart."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.probes import DistributionTest, Predictions, Reliance, choose_cues


@pytest.fixture(scope="module")
def probed():
    data = demo_choice(2000, seed=3).instances
    audit = Cues(features=("word",))
    cues = choose_cues(data, audit, audit.run(data).tables["cues"], top=5)
    examples = cues.examples
    rng = np.random.default_rng(0)
    lengths = cues.encoded.scoped.lengths[-len(examples.instances) :]
    longest = np.array(
        [lengths[a : a + k].argmax() for a, k in zip(examples.first_rows[:-1], examples.sizes, strict=True)]
    )
    read = np.where(rng.random(len(examples)) < 0.6, examples.gold, rng.integers(0, examples.sizes))
    avoided = (read == longest) & (rng.random(len(read)) < 0.7)
    models = {
        "reader": read,
        "avoider": np.where(avoided, rng.integers(0, examples.sizes), read),
        "longest": np.where(rng.random(len(read)) < 0.5, longest, read),
        "first": np.where(rng.random(len(read)) < 0.4, 0, read),
    }
    return data, cues, [Predictions(name, answers) for name, answers in models.items()]


def test_length_and_position_are_probed_although_only_words_were_audited(probed):
    _, cues, _ = probed
    names = set(cues.names.select("family", "feature").rows())
    positions = {("position", f"choice {i}") for i in range(1, 5)}
    assert {("length", "longest"), ("length", "shortest")} | positions <= names
    shortest = cues.table.filter(feature="shortest").row(0, named=True)
    assert not shortest["significant"]
    assert shortest["label"] == "right"
    counts = shortest["train_right"], shortest["train_wrong"]
    assert shortest["share"] == pytest.approx(counts[0] / sum(counts))


def test_cues_named_by_the_user_are_the_only_ones(probed):
    data, cues, _ = probed
    audit = Cues(features=("word",))
    only = choose_cues(data, audit, audit.run(data).tables["cues"], names=["indeed"])
    assert only.names["feature"].to_list() == ["indeed"]
    assert len(cues) > 1


def test_pairs_have_no_longest_choice():
    data = demo_nli(1500, seed=0).instances
    audit = Cues(features=("word",))
    cues = choose_cues(data, audit, audit.run(data).tables["cues"], top=3)
    assert set(cues.table["family"]) == {"word"}


def test_following_and_avoiding_are_told_apart_by_sign(probed):
    data, cues, models = probed
    table = Reliance().run(data, models, cues).tables["reliance"]
    verdicts = dict(table.filter(feature="longest").select("model", "verdict").rows())
    assert verdicts == {"reader": "none", "avoider": "avoids", "longest": "relies", "first": "none"}
    first = dict(table.filter(feature="choice 1", model="first").select("model", "verdict").rows())
    assert first == {"first": "avoids"}  # the usual label of the first choice is wrong here
    findings = DistributionTest().run(data, models, cues).findings
    titles = {f.title for f in findings}
    assert "avoider rejects choices with the most tokens" in titles
    assert "longest prefers choices with the most tokens" in titles
    assert not any(title.startswith("reader") for title in titles)
    away = next(f for f in findings if f.title.startswith("avoider"))
    assert away.value < away.chance
    assert "opposite of the training set" in away.text


def test_cues_that_travel_with_length_are_explained_by_length():
    """Forty words that long choices have more often; the model reads length alone."""
    rng = np.random.default_rng(5)
    rows = []
    for i in range(1600):
        answer = int(rng.integers(0, 3))
        sizes = rng.integers(4, 12, 3)
        sizes[answer] += rng.integers(0, 7)
        choices = [" ".join(f"w{w}" for w in rng.integers(0, 40, size)) for size in sizes]
        rows.append({"id": f"q{i}", "question": f"why {i}?", "choices": choices, "answer": answer})
    import cuecard as cc

    data = cc.load(rows[:1000], test=rows[1000:])
    audit = Cues(features=("word",))
    cues = choose_cues(data, audit, audit.run(data).tables["cues"], top=20)
    lengths = np.array([[len(c.split()) for c in row["choices"]] for row in rows[1000:]])
    gold = np.array([row["answer"] for row in rows[1000:]])
    answers = np.where(rng.random(600) < 0.7, lengths.argmax(axis=1), gold)
    table = Reliance().run(data, [Predictions("m", answers)], cues).tables["reliance"]
    words = table.filter(family="word")
    before = words.filter((pl.col("contrast_q") <= 0.05) & (pl.col("contrast") > 0)).height
    assert before >= 8
    assert words.filter(pl.col("verdict") == "length").height >= before - 2
    assert table.filter(feature="longest")["verdict"].to_list() == ["relies"]
