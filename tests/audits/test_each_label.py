"""Each label of texts with several is compared with the rest: planted cues are found, noise is not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.analysis import Skip
from cuecard.audits.each_label import SEVERAL, EachLabel, strongest_words
from cuecard.data import load
from cuecard.stats import clopper_pearson
from cuecard.stats.cues.association import binomial_log_p

WORDS = np.array([f"word{i}" for i in range(150)])


def texts(n: int = 700, seed: int = 0, planted: float = 0.0, labels: int = 4) -> pl.DataFrame:
    """Return texts of one or two labels; of those with l2, this share has the word "thanks"."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        own = rng.choice(labels, size=1 + int(rng.random() < 0.3), replace=False).tolist()
        words = rng.choice(WORDS, 9).tolist()
        if rng.random() < planted:
            words[0] = "thanks" if 2 in own else words[0]
        rows.append({"text": " ".join(words), "labels": [f"l{i}" for i in own]})
    return pl.DataFrame(rows)


def test_a_planted_label_is_found_with_its_word():
    result = EachLabel().run(load(texts(planted=0.6)))
    table = {row["label"]: row for row in result.tables["each_label"].iter_rows(named=True)}
    assert next(iter(table)) == "l2"
    assert list(table)[-1] == SEVERAL
    assert set(table) == {"l0", "l1", "l2", "l3", SEVERAL}
    row = table["l2"]
    assert (row["cue"], row["predicted"]) == ("thanks", True)
    assert row["low"] > 0.6
    assert row["cue_q"] < 1e-20
    measures = {measure.name: measure for measure in result.measures}
    assert measures["each_label.l2.auc"].value == row["auc"]
    assert (result.summary["labels"], result.summary["tested"]) == (4, 4)
    about_words = [finding for finding in result.findings if finding.cue]
    assert [(one.cue, one.label, one.severity) for one in about_words] == [("thanks", "l2", "low")]
    assert "type --labels 'labels has l2'" in about_words[0].text
    expected = EachLabel(expect=("words",)).run(load(texts(planted=0.6))).findings
    assert {finding.severity for finding in expected} == {"info"}


def test_labels_without_a_cue_are_seldom_a_finding():
    found = predicted = 0
    for seed in range(20):
        result = EachLabel().run(load(texts(300, seed + 1)))
        found += any(finding.cue for finding in result.findings)
        predicted += result.summary["predicted"] > 0
        assert {finding.severity for finding in result.findings} <= {"info", "low"}
    assert found <= 3  # 20 datasets at 5 %
    assert predicted <= 4


def test_a_card_of_clean_lists_of_labels_has_no_serious_finding():
    for seed in range(20):
        card = cc.audit(texts(300, seed + 100), skip=["clusters"])
        assert card["each_label"].status == "done"
        assert not [f.title for f in card.findings if f.severity in ("high", "medium")]


def test_words_are_tested_as_one_by_one_and_corrected_over_all_labels():
    data = load(texts(planted=0.6))
    lists = data.table["all labels"]
    has = np.column_stack([lists.list.contains(f"l{i}").to_numpy() for i in range(4)])
    cues, smallest = strongest_words(data, has)
    with_word = data.table["hypothesis"].str.contains(r"\bthanks\b").to_numpy()
    hits, n = int(has[with_word, 2].sum()), int(with_word.sum())
    row = cues.row(2, named=True)
    assert (row["cue"], row["cue_texts"], row["cue_share"]) == ("thanks", n, hits / n)
    counted = data.table["hypothesis"].str.split(" ").list.unique().explode().value_counts()
    tests = 4 * counted.filter(pl.col("count") >= 20).height
    low, high = clopper_pearson(hits, n, 1 - 0.05 / tests)
    assert (row["cue_low"], row["cue_high"]) == (pytest.approx(float(low)), pytest.approx(float(high)))
    log_p = float(binomial_log_p(hits, n, has[:, 2].mean()))
    assert row["cue_q"] == pytest.approx(np.exp(log_p) * tests)
    assert smallest == pytest.approx(row["cue_q"])


def test_copies_of_a_text_count_once():
    frame = texts(planted=0.6)
    once = EachLabel().run(load(frame)).tables["each_label"]
    twice = EachLabel().run(load(pl.concat([frame, frame]))).tables["each_label"]
    assert twice.select("label", "texts", "cue_texts").equals(once.select("label", "texts", "cue_texts"))


@pytest.mark.parametrize("labels", [None, "labels has l1", "labels has *"])
def test_all_labels_are_tested_whatever_is_compared(labels):
    result = EachLabel().run(load(texts(400), labels=labels))
    assert result.summary["column"] == "labels"
    assert result.summary["tested"] == 4


def test_of_many_labels_the_most_frequent_are_tested(monkeypatch):
    monkeypatch.setattr("cuecard.audits.each_label.MOST_LABELS", 2)
    frame = texts(400)
    counts = frame["labels"].explode().value_counts().sort("count", "labels", descending=[True, False])
    result = EachLabel().run(load(frame))
    assert result.summary["labels"] == 4
    assert set(result.tables["each_label"]["label"]) == {*counts["labels"].head(2), SEVERAL}


def test_what_has_no_lists_or_few_texts_is_skipped():
    with pytest.raises(Skip, match="needs a list of labels for every text"):
        EachLabel().run(load(texts(100).with_columns(pl.col("labels").list.first())))
    with pytest.raises(Skip, match="at least 50 distinct training texts have"):
        EachLabel().run(load(texts(60)))
    one_each = texts(100).with_columns(pl.col("labels").list.head(1))
    assert "each_label" not in cc.audit(one_each, skip=["clusters"]).sections


def test_a_finding_names_the_command_that_shows_its_label():
    command = "cuecard audit train.jsonl --labels 'labels has l0' --seed 1 --out card"
    card = cc.audit(load(texts(planted=0.6), labels="labels has l0"), skip=["clusters"], command=command)
    finding = next(finding for finding in card.findings if finding.section == "each_label" and finding.cue)
    assert finding.command == "cuecard explain thanks train.jsonl --seed 1 --labels 'labels has l2'"
