from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.data.demo import demo_choice, demo_nli
from cuecard.errors import InputError, UsageError
from cuecard.probes import check_test, cue_stress_set


def test_all_examples_with_the_cue_and_as_many_without():
    data = demo_nli(4000, seed=1).instances
    stress = cue_stress_set(data, "indeed")
    test = stress.balanced.test.table["hypothesis"].str.contains(r"\bindeed\b")
    assert int(test.sum()) == sum(stress.counts.values()) == int((~test).sum())
    flat = stress.flat.test.table
    assert flat["hypothesis"].str.contains(r"\bindeed\b").all()
    assert set(flat["label"].value_counts()["count"]) == {stress.per_label}
    assert stress.balanced.train.table.equals(data.train.table)
    assert cue_stress_set(data, "indeed").flat.fingerprint == stress.flat.fingerprint


def test_a_sample_has_as_many_with_the_cue_as_without():
    data = demo_nli(4000, seed=1).instances
    whole = cue_stress_set(data, "indeed")
    ids = set(whole.balanced.test.table["example_id"])
    for size, with_cue in ((20, 10), (21, 11), (10**6, sum(whole.counts.values()))):
        part = cue_stress_set(data, "indeed", sample=size).balanced.test.table
        assert set(part["example_id"]) <= ids
        assert part.height == min(size, len(ids))
        assert int(part["hypothesis"].str.contains(r"\bindeed\b").sum()) == with_cue


def test_multiple_choice_is_flat_in_whether_the_right_choice_has_the_cue():
    demo = demo_choice(2000, seed=1)
    word = next(cue for cue in demo.truth if cue.kind == "word")
    stress = cue_stress_set(demo.instances, word.feature)
    examples = check_test(stress.flat)
    texts = stress.flat.test.table["hypothesis"].gather(examples.right_rows)
    has = texts.str.contains(rf"\b{word.feature}\b").to_numpy()
    assert has.sum() == (~has).sum() == stress.per_label


def test_a_cue_that_cannot_be_flattened_is_said():
    data = demo_nli(1500, seed=1).instances
    with pytest.raises(UsageError, match="No instance has the word 'zebra'"):
        cue_stress_set(data, "zebra")
    only = data.table.filter(
        (pl.col("split") != "test")
        | (pl.col("label").cast(pl.String) == "neutral")
        | ~pl.col("hypothesis").str.contains(r"\bindeed\b")
    )
    with pytest.raises(InputError, match="labels cannot be balanced"):
        cue_stress_set(cc.Instances(only, data.task, data.labels), "indeed")


def test_the_word_no_in_mnli(real_data):
    data = cc.load(real_data("mnli/train_partial.parquet"), test=real_data("mnli/dev_matched.parquet"))
    stress = cue_stress_set(data, "no")
    # The paper counted 229, 38 and 46 in the mismatched split; these are the counts of the matched one.
    assert stress.counts == {"contradiction": 284, "entailment": 55, "neutral": 57}
    assert (stress.balanced.test.n_examples, stress.flat.test.n_examples) == (2 * 396, 3 * 55)
    assert np.unique(check_test(stress.flat).gold, return_counts=True)[1].tolist() == [55, 55, 55]
