"""Answers of models in words: read from tables and SQuAD's files, scored with and without each shortcut."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import fisher_exact

import cuecard as cc

ANSWERS = ["42"] * 30 + [str(i) for i in range(100, 190)]


@pytest.fixture(scope="module")
def data() -> cc.Instances:
    rng = np.random.default_rng(0)
    asked = [" ".join(rng.choice(list("abcdefghijklmnop"), 9)) + "?" for _ in ANSWERS]
    table = pl.DataFrame({"id": [f"q{i}" for i in range(120)], "question": asked, "answer": ANSWERS})
    return cc.load(table, task="open")


def said(right_of_common: int = 30, right_of_rest: int = 45) -> pl.DataFrame:
    texts = [
        one if (i < right_of_common if i < 30 else i - 30 < right_of_rest) else "wrong"
        for i, one in enumerate(ANSWERS)
    ]
    return pl.DataFrame({"id": [f"q{i}" for i in range(120)], "response": texts})


def test_scores_with_and_without_the_commonest_answer(data):
    card = cc.probe(data, {"m": said()})
    assert list(card.sections) == ["open_shortcuts"]
    assert card.measure("open_shortcuts.m.accuracy").value == 75 / 120
    gap = card.tables["gaps"].filter(pl.col("name") == "prior").row(0, named=True)
    assert (gap["with"], gap["without"], gap["gap"]) == (1.0, 0.5, 0.5)
    assert (gap["n_with"], gap["n_without"]) == (30, 90)
    assert gap["low"] > 0.3
    finding = card.findings[0]
    assert finding.title == "m is better where the answer is the commonest one"
    assert (finding.severity, finding.unit, finding.value) == ("medium", "points", 0.5)
    assert card.measure("open_shortcuts.commonest.m").value == 0.25


def test_the_test_is_fishers_and_no_gap_is_information(data):
    card = cc.probe(data, {"m": said(16, 47)})
    gap = card.tables["gaps"].filter(pl.col("name") == "prior").row(0, named=True)
    p = fisher_exact([[16, 14], [47, 43]]).pvalue
    assert 10 ** gap["log10_p"] >= p * 0.999  # copies of questions may only make it larger
    assert [finding.severity for finding in card.findings] == ["info"]


def test_answers_are_read_from_tables_solutions_and_squad_files(data, tmp_path):
    frame = said()
    frame.write_ndjson(tmp_path / "a.jsonl")
    (tmp_path / "b.json").write_text(json.dumps(dict(frame.iter_rows())))
    frame.select("id", model_answer=pl.lit("We count.\n#### ") + pl.col("response")).reverse().write_csv(
        tmp_path / "c.csv"
    )
    card = cc.probe(data, [tmp_path / name for name in ("a.jsonl", "b.json", "c.csv")])
    models = card.tables["models"]
    assert models["model"].to_list() == ["a", "b", "c"]
    assert models["accuracy"].to_list() == [75 / 120] * 3


def test_a_test_split_is_what_is_scored():
    rng = np.random.default_rng(1)
    asked = [" ".join(rng.choice(list("abcdefghijklmnop"), 9)) + "?" for _ in ANSWERS]
    table = pl.DataFrame({"question": asked, "answer": ANSWERS})
    split = cc.load(table[:90], test=table[90:], task="open")
    texts = [*ANSWERS[90:110], *[None] * 10]
    card = cc.probe(split, {"m": pl.DataFrame({"prediction": texts}, schema={"prediction": pl.String})})
    row = card.tables["models"].row(0, named=True)
    assert (row["n"], row["accuracy"], row["unanswered"]) == (30, 20 / 30, 10)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (lambda: said().with_columns(id=pl.lit("q1")), "120 ids occur|occur in several rows"),
        (lambda: said()[:50].drop("id"), "50 predictions for 120 test examples"),
        (lambda: pl.DataFrame({"answer": ANSWERS}), "holds the right answers"),
        (lambda: said().rename({"response": "x"}), "no column of predictions"),
    ],
)
def test_what_does_not_fit_says_what_to_type(data, table, message):
    with pytest.raises(cc.CueCardError, match=message):
        cc.probe(data, {"m": table()})


def test_models_of_labels_and_functions_are_refused(data):
    with pytest.raises(cc.CueCardError, match="answers in words: give what a model answered"):
        cc.probe(data, models=["linear"])
    with pytest.raises(cc.CueCardError, match="not from a function"):
        cc.probe(data, {"m": lambda texts: texts})


def test_labelled_data_have_no_such_section():
    texts = [f"w{i} {'good' if i % 2 else 'bad'} x{i % 7}" for i in range(80)]
    table = pl.DataFrame({"text": texts, "label": ["a", "b"] * 40})
    data = cc.load(table[:40], test=table[40:])
    card = cc.probe(data, {"m": pl.DataFrame({"prediction": ["a", "b"] * 20})})
    assert "open_shortcuts" not in card.sections
