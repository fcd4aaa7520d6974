"""A held-out split shares no sentence with the rest."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.data import load
from cuecard.data.splits import hold_out, sentence_components
from cuecard.errors import UsageError


def pairs(edges):
    rows = [{"premise": a, "hypothesis": b, "label": "xy"[i % 2]} for i, (a, b) in enumerate(edges)]
    return load(pl.DataFrame(rows))


def sentences(table: pl.DataFrame) -> set[str]:
    return (set(table["premise"]) | set(table["hypothesis"])) - {""}


def test_connected_examples_share_a_number():
    data = pairs([("a", "b"), ("c", "d"), ("b", "e"), ("", "f"), ("", "g"), ("e", "h")])
    assert sentence_components(data).tolist() == [0, 1, 0, 2, 3, 0]


@settings(max_examples=60, deadline=None)
@given(
    edges=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=4, max_size=60),
    share=st.floats(0.1, 0.6),
    seed=st.integers(0, 5),
)
def test_no_sentence_is_on_both_sides(edges, share, seed):
    data = pairs([(f"s{a}", f"t{b}") for a, b in edges])
    try:
        split = hold_out(data, share, seed=seed)
    except UsageError:
        sizes = pl.Series(sentence_components(data)).value_counts()["count"]
        assert sizes.min() > round(share * len(edges)) or len(sizes) == 1
        return
    assert split.test is not None
    assert not sentences(split.train.table) & sentences(split.test.table)
    assert len(split.test) <= round(share * len(edges))
    assert sorted(split.table["example_id"]) == sorted(data.table["example_id"])
    assert split.splits == ("train", "test")


def test_the_wanted_share_is_reached_where_components_are_small():
    data = load(
        pairs([(f"p{i // 3}", f"h{i}") for i in range(3000)]).table.drop("split", "position"), holdout=0.2
    )
    assert data.test is not None
    assert len(data.test) == 600
    assert data.report.notes == ()


def test_a_giant_component_is_noted_with_the_share_reached():
    edges = [("hub", f"h{i}") for i in range(90)] + [(f"p{i}", f"q{i}") for i in range(10)]
    data = hold_out(pairs(edges), 0.3)
    assert data.test is not None
    assert len(data.test) == 10
    assert "has 10.0% of the examples, not 30.0%: 90.0% of them" in data.report.notes[0]


def test_one_component_alone_cannot_be_divided():
    with pytest.raises(UsageError, match="100% of them are connected"):
        hold_out(pairs([("hub", f"h{i}") for i in range(20)]), 0.2)


def test_the_seed_decides_and_examples_stay_whole():
    choices = [[f"a{i}", f"b{i}", f"c{i}"] for i in range(50)]
    frame = pl.DataFrame(
        {"question": [f"q{i}" for i in range(50)], "choices": choices, "answer": [0, 1] * 25}
    )
    first, again, other = (load(frame, holdout=0.4, seed=s) for s in (1, 1, 2))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.test is not None
    assert first.test.n_examples == 20
    assert first.test.table.group_by("example_id").len()["len"].unique().to_list() == [3]


def test_sentences_are_the_same_up_to_case_and_punctuation():
    data = pairs(
        [("A dog.", "b"), ("c", "a dog"), ("d", "e"), ("C!", "f"), ("?", "g"), ("!", "h"), (" ", "i")]
    )
    assert sentence_components(data).tolist() == [0, 0, 1, 0, 2, 3, 4]
