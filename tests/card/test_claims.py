"""One estimate, one interval and one verdict on cards of all shared datasets, and untested is never zero."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import cuecard as cc
from claims import contradictions
from cuecard.analysis import Finding, Measure
from cuecard.card.card import Card, DatasetInfo, Section
from cuecard.data.demo import demo_choice, demo_nli

#: A file of every shared dataset.
FILES = (
    "anli/r1_dev.parquet",
    "arc_challenge/train.parquet",
    "arct/train.parquet",
    "arct_adversarial/train_adv_negated.parquet",
    "auto_j_pairwise/test.parquet",
    "balanced_copa/dev_all.parquet",
    "caugnli/all_combined_train.parquet",
    "commonsenseqa/train.parquet",
    "copa/dev.parquet",
    "fever_symmetric/dev.parquet",
    "hh_rlhf_harmless_base/test.parquet",
    "llmbar/test.parquet",
    "mmlu/dev.parquet",
    "mnli/train_partial.parquet",
    "msrp/train.parquet",
    "ocnli/train_10k.parquet",
    "openbookqa/train.parquet",
    "quora/train_partial.parquet",
    "race/test_middle.parquet",
    "reclor/train.parquet",
    "sick/train.parquet",
    "snli/train_partial.parquet",
    "sst2/train.parquet",
    "vitaminc/bigbench_sample.parquet",
    "xnli/dev_de.parquet",
)
AUDITS = ("cues", "partial_input", "pair_graph", "slices", "columns")


@pytest.mark.parametrize("file", FILES)
def test_no_claim_about_a_real_dataset_contradicts_another(file, real_data):
    path: Path = real_data(file)
    frame = pl.read_parquet(path).drop("id", strict=False)  # those of RACE repeat
    data = cc.load(frame.sample(min(250, frame.height), shuffle=True, seed=1), holdout=0.3)
    card = cc.audit(data, only=AUDITS)
    assert [section.reason for section in card.sections.values() if section.status == "failed"] == []
    assert contradictions(card) == []
    assert {row.given_away is None for row in cc.board([card]).rows} == {False}


@pytest.mark.parametrize("data", [demo_nli(200, seed=1).instances, demo_choice(100, seed=1).instances])
def test_what_was_not_tested_is_not_zero(data):
    [row] = cc.board([cc.audit(data, only=("overview",))]).rows
    assert row.given_away is None
    assert row.cells["partial_input"] is None


def card_with(finding: Finding, *measures: Measure) -> Card:
    info = DatasetInfo(name="d", task="pair", labels=["a", "b"], splits={}, fingerprint="x")
    section = Section(title="A", status="done", measures=list(measures))
    return Card(dataset=info, sections={"a": section}, findings=[finding])


MEASURE = Measure("a.accuracy", 0.6, 0.55, 0.65, 0.5, 400, "share", "higher")


@pytest.mark.parametrize(
    ("finding", "complaint"),
    [
        (Finding("a", "low", "t", "x", 0.6, 0.61, 0.65, 0.5), "outside of its interval"),
        (Finding("a", "low", "t", "x", 0.6, 0.52, 0.68, 0.5, 400, key="accuracy"), "the same number"),
        (Finding("a", "low", "t", "x", 0.52, 0.49, 0.55, 0.5), "includes chance"),
        (
            Finding("a", "info", "The AUC is above chance", "x", 0.52, 0.49, 0.55, 0.5, unit="score"),
            "begins at",
        ),
        (Finding("a", "info", "t", "This is not significant (q = 0.042)."), "not significant"),
        (Finding("a", "info", "t", "This is significant (p = 0.2)."), "significant"),
    ],
)
def test_what_contradicts_itself_is_found(finding, complaint):
    [found] = contradictions(card_with(finding, MEASURE))
    assert complaint in found


def test_agreeing_claims_are_not_complained_about():
    finding = Finding(
        "a", "low", "Accuracy above chance", "Significant (q = 0.01).", 0.6, 0.55, 0.65, 0.5, 400
    )
    assert contradictions(card_with(finding, MEASURE)) == []
