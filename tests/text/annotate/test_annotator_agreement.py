"""Agreement with a parser on the half of its sentences that no rule was tuned on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from cuecard.text.annotate import TENSES, Annotations, get_annotator


@pytest.fixture(scope="module")
def report_half(oracle: Callable[[str], Path]) -> pl.DataFrame:
    return pl.read_parquet(oracle("spacy_en_annotations.parquet")).gather_every(2, offset=1)


@pytest.fixture(scope="module")
def ours(report_half: pl.DataFrame) -> Annotations:
    return get_annotator("en", "builtin").annotate(report_half["text"])


def test_tense_is_told_nearly_always_and_alike(report_half: pl.DataFrame, ours: Annotations) -> None:
    theirs = np.array([TENSES.index(tense or "none") for tense in report_half["tense"]])
    told = theirs > 0
    both = told & (ours.tense > 0)
    assert (ours.tense[told] > 0).mean() >= 0.99
    assert cohen_kappa_score(theirs[both], ours.tense[both]) >= 0.97
    assert cohen_kappa_score(theirs, ours.tense) >= 0.92


def test_negation_is_told_alike(report_half: pl.DataFrame, ours: Annotations) -> None:
    assert cohen_kappa_score(report_half["negation"].to_numpy(), ours.negation) >= 0.99


@pytest.mark.parametrize(
    ("name", "labels", "kappa"),
    [
        ("any", None, 0.89),
        ("PERSON", {"PERSON"}, 0.58),
        ("ORG", {"ORG"}, 0.53),
        ("LOC", {"GPE", "LOC", "FAC"}, 0.75),
        ("NORP", {"NORP"}, 0.80),
        ("TIME", {"DATE", "TIME"}, 0.91),
        ("CARDINAL", {"CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY"}, 0.92),
    ],
)
def test_entities_are_told_alike(
    report_half: pl.DataFrame, ours: Annotations, name: str, labels: set[str] | None, kappa: float
) -> None:
    theirs = [
        bool(found) if labels is None else bool(labels & set(found))
        for found in report_half["entities"].to_list()
    ]
    assert cohen_kappa_score(theirs, ours.entities[name]) >= kappa
