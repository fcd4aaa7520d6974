"""Partial input, slices and the pair graph see all examples of a dataset in parts, not the sample."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from test_streaming import as_files, choices, content, pairs

import cuecard as cc
from cuecard.audits import PairGraphAudit, PartialInput
from cuecard.audits.partial_input.slices import slice_columns
from cuecard.data import Instances, load
from cuecard.data.examples import Examples
from cuecard.data.space import Engine

SECTIONS = ("partial_input", "slices", "pair_graph")
SAMPLED = 25


def with_columns_beside(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a dataset with columns that are slices, and others that are none."""
    row = pl.int_range(pl.len())
    return frame.with_columns(
        genre=pl.when(row % 7 < 3).then(pl.lit("news")).when(row % 7 < 5).then(pl.lit("fiction")),
        year=2000 + row % 4,
        address="https://example.org/" + row.cast(pl.String),
        weight_of=row / 3,
    )


def preferences(n: int = 130) -> pl.DataFrame:
    """Return preferences, the longer answer more often chosen, with what is known of each answer."""
    rng = np.random.default_rng(3)
    words = np.array(
        [
            "the",
            "cat",
            "sat",
            "on",
            "a",
            "mat",
            "#",
            "and",
            "looked",
            "at",
            "many",
            "small",
            "birds",
            "`there`",
            "today",
        ]
    )
    texts = [" ".join(rng.choice(words, rng.integers(3, 12))) for _ in range(2 * n)]
    first, second = texts[:n], texts[n:]
    longer = [
        a if (len(a) > len(b)) == (i % 4 > 0) else b
        for i, (a, b) in enumerate(zip(first, second, strict=True))
    ]
    other = [b if c == a else a for a, b, c in zip(first, second, longer, strict=True)]
    return pl.DataFrame(
        {
            "prompt": [f"question {i % 40} about birds" for i in range(n)],
            "chosen": longer,
            "rejected": other,
            "chosen_model": [("big", "small")[i % 3 > 0] for i in range(n)],
            "rejected_model": [("big", "small")[i % 5 > 0] for i in range(n)],
        }
    )


@pytest.mark.parametrize(
    ("make", "rows", "tested", "backwards"),
    [(pairs, 170, 90, False), (pairs, 400, 0, True), (choices, 23, 60, True), (preferences, 31, 0, False)],
)
def test_all_examples_are_seen_in_any_number_of_parts_and_any_order(
    make, rows, tested, backwards, tmp_path, monkeypatch
):
    frame = with_columns_beside(make())
    options = {}
    if tested:
        frame[-tested:].write_parquet(tmp_path / "test.parquet")
        options = {"test": tmp_path / "test.parquet"}
    folder = as_files(frame[: frame.height - tested], tmp_path / "files", files=2, groups=3)
    expected = cc.audit(load(folder, **options), only=SECTIONS)
    if backwards:
        forwards = Engine.map
        monkeypatch.setattr(
            Engine,
            "map",
            lambda self, function, items: (
                (len(items) - 1 - place, done) for place, done in forwards(self, function, items[::-1])
            ),
        )
    monkeypatch.setattr("cuecard.data.loading.MOST_ROWS", rows)
    monkeypatch.setattr("cuecard.data.instances.SAMPLED", SAMPLED)
    monkeypatch.setattr("cuecard.models.linear.input_features.MANY", 0)
    monkeypatch.setattr("cuecard.models.linear.input_features.AT_A_TIME", 60)
    monkeypatch.setattr("cuecard.data.space.SMALL", 0)
    monkeypatch.setattr("cuecard.data.space.LARGE", 1 << 12)
    card = cc.audit(folder, only=SECTIONS, memory="1KB", **options)
    assert {name: (one.status, one.sampled) for name, one in card.sections.items()} == dict.fromkeys(
        SECTIONS, ("done", {})
    )
    documents = [json.loads(content(one)) for one in (card, expected)]
    note = documents[0]["dataset"]["notes"].pop()
    assert "The table of examples rests on a random sample of" in note
    assert documents[0] == documents[1]
    for table in (name for section in SECTIONS for name in expected.sections[section].tables):
        assert_frame_equal(card.tables[table], expected.tables[table], check_exact=True)
    own, all_examples = card.tables["examples"], expected.tables["examples"]
    assert own.height < all_examples.height
    assert_frame_equal(
        own,
        own.select("example_id", "split").join(all_examples, on=["example_id", "split"]),
        check_exact=True,
    )


@pytest.mark.parametrize("tokens", [None, "treebank"])
def test_slices_alone_make_their_own_guesses(tokens, tmp_path, monkeypatch):
    if tokens:
        pytest.importorskip("nltk", reason="the extra nltk is not installed")
    folder = as_files(with_columns_beside(pairs(300)), tmp_path / "files", files=1, groups=3)
    expected = cc.audit(load(folder), only=("slices",), tokens=tokens)
    monkeypatch.setattr("cuecard.data.instances.SAMPLED", SAMPLED)
    card = cc.audit(folder, only=("slices",), tokens=tokens, memory="1KB")
    assert "hypothesis_only" in card.tables["slices"]["rule"].to_list()
    assert_frame_equal(card.tables["slices"], expected.tables["slices"], check_exact=True)


def test_what_needs_texts_in_memory_stays_on_the_sample_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.instances.SAMPLED", SAMPLED)
    folder = as_files(pairs(300), tmp_path / "files", files=1, groups=2)
    card = cc.audit(folder, only=("pair_graph",), memory="1KB", unlexicalized=True)
    assert card.sections["pair_graph"].sampled == {"train": SAMPLED}
    assert f"a random sample of {SAMPLED} training examples" in card.dataset.notes[-1]
    assert not PairGraphAudit(forest="paper").any_size
    assert not PartialInput(learner=("linear",)).any_size


def test_a_whole_test_set_is_no_random_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("cuecard.data.instances.SAMPLED", SAMPLED)
    table = pairs(300)
    (tmp_path / "files").mkdir()
    table.write_parquet(tmp_path / "files" / "train.parquet")
    table[: SAMPLED - 5].write_parquet(tmp_path / "test.parquet")
    card = cc.audit(
        tmp_path / "files", test=tmp_path / "test.parquet", only=("overview", "clusters"), memory="1KB"
    )
    said = f"rest on a random sample of {SAMPLED} training examples and all {SAMPLED - 5} test examples;"
    assert said in card.dataset.notes[-1]


def test_durations_are_slices():
    n = 60
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)],
            "position": pl.Series([0] * n, dtype=pl.Int32),
            "split": ["train"] * n,
            "premise": [f"one {i}" for i in range(n)],
            "hypothesis": [f"two {i}" for i in range(n)],
            "label": pl.Series(["a", "b"] * (n // 2), dtype=pl.Enum(["a", "b"])),
            "took": pl.Series([i % 3 for i in range(n)]).cast(pl.Duration("ms")),
        }
    )
    [column] = slice_columns(Examples(Instances(table, "pair", ("a", "b"))))
    assert column.name == "took"
    assert column.n_unique() == 3
