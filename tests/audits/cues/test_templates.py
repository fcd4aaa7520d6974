"""Sentences of one template: near copies of each other, each with a label of its own."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.audits import Cues
from cuecard.data import Instances
from cuecard.data.demo import demo_template, repeated

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
