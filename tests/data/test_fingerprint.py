"""The fingerprint of a dataset is a hash of its content and of nothing else."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from cuecard.data import Instances, load
from small_sets import choice_instances, pair_instances

ROWS = [("train", "p", "h", "yes"), ("train", "", "longer", "no"), ("test", "é", "h", "yes")]


def test_neither_ids_nor_extra_columns_are_part_of_it():
    frame = pl.DataFrame({"premise": ["a", "b"], "hypothesis": ["c", "d"], "label": ["x", "y"]})
    expected = load(frame).fingerprint
    assert load(frame.with_columns(id=pl.Series(["first", "second"]))).fingerprint == expected
    assert load(frame.with_columns(genre=pl.lit("news"))).fingerprint == expected


@pytest.mark.parametrize(
    "changed",
    [
        [("train", "p2", "h", "yes"), *ROWS[1:]],
        [("train", "p", "h2", "yes"), *ROWS[1:]],
        [("train", "p", "h", "no"), *ROWS[1:]],
        [("test", "p", "h", "yes"), *ROWS[1:]],
        [("train", "ph", "", "yes"), *ROWS[1:]],
        ROWS[::-1],
        ROWS[:2],
    ],
)
def test_every_text_label_split_and_the_order_count(changed):
    assert pair_instances(changed).fingerprint != pair_instances(ROWS).fingerprint


def test_which_choices_belong_together_counts_but_not_what_their_question_is_called():
    data = choice_instances([("train", "q", ["a", "b"], 0), ("train", "q", ["c", "d"], 0)])
    named = data.with_columns(example_id=pl.Series(["x", "x", "y", "y"]))
    merged = data.with_columns(example_id=pl.lit("x"))
    assert named.fingerprint == data.fingerprint != merged.fingerprint


def test_a_missing_text_is_neither_empty_nor_any_character():
    def with_premise(value: str | None) -> Instances:
        return pair_instances(ROWS).with_columns(premise=pl.Series(["p", value, "q"], dtype=pl.String))

    assert len({with_premise(value).fingerprint for value in (None, "", "\x00", "\x01")}) == 4


def test_the_way_the_table_is_held_in_memory_does_not_count():
    data = pair_instances(ROWS)
    in_chunks = pl.concat([data.table[:1], data.table[1:]], rechunk=False)
    sliced = pl.concat([data.table, data.table])[1:4]
    assert replace(data, table=in_chunks).fingerprint == data.fingerprint
    moved = pl.concat([data.table[1:], data.table[:1]], rechunk=True)
    assert replace(data, table=sliced).fingerprint == replace(data, table=moved).fingerprint
