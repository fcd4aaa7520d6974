"""Texts that share a hash are compared: cards are the same whatever the hashes of texts."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from tests.run.in_parts.test_streaming import as_files, choices, pairs, same_cards

import cuecard as cc
from cuecard.audits import repeated_inputs
from cuecard.data import fingerprint, load
from cuecard.data.exact import exact_hashes, told_apart
from cuecard.data.splits import overlap
from cuecard.data.splits.holdout import sentence_components

ONLY = ("overview",)


@pytest.fixture
def few_hashes(monkeypatch):
    """Hashes of texts and of inputs have few bits, so that most share one with others that differ."""

    def force(bits: int) -> None:
        mask = ~np.uint64(0) << np.uint64(64 - bits)
        for module, name in (
            (fingerprint, "_byte_hashes"),
            (overlap, "whole_keys"),
            (repeated_inputs, "whole_keys"),
        ):
            real = getattr(module, name)
            monkeypatch.setattr(module, name, lambda *texts, real=real: real(*texts) & mask)

    return force


def counted(card: cc.Card) -> str:
    """Return what a card says about texts that are equal, without examples and the fingerprint."""
    section = card.sections["overview"]
    return json.dumps([section.summary, [(f.id, f.text, f.value) for f in card.findings]], default=str)


def with_test(frame: pl.DataFrame, folder):
    """Write a shuffled table in parts and a test set that has some of its rows, some in capitals."""
    frame = frame.sample(fraction=1, shuffle=True, seed=1)
    train = as_files(frame[:-60], folder / "train", files=2, groups=3)
    name = "premise" if "premise" in frame.columns else "question"
    test = pl.concat([frame[-60:], frame[:25], frame[25:40].with_columns(pl.col(name).str.to_uppercase())])
    test.write_parquet(folder / "test.parquet")
    return {"train": train, "test": folder / "test.parquet"}


@pytest.mark.parametrize("make", [pairs, choices])
@pytest.mark.parametrize("bits", [1, 5])
def test_cards_are_right_where_different_texts_share_a_hash(make, bits, tmp_path, few_hashes, monkeypatch):
    paths = with_test(make(), tmp_path)
    expected = cc.audit(load(**paths), only=ONLY)
    assert expected["overview"].summary["overlap"]["pair"] > 30
    assert expected["overview"].summary["duplicates"]["normalised"] > 10
    few_hashes(bits)
    monkeypatch.setattr("cuecard.run.in_parts.auditing.MOST_ROWS", 60)
    monkeypatch.setattr("cuecard.engines.verification.TEXTS", 100)
    monkeypatch.setattr("cuecard.data.units.buckets.RECORDS", 70)
    memory = cc.audit(load(**paths), only=ONLY)
    assert counted(memory) == counted(expected)
    for table in ("duplicates", "label_balance", "lengths"):
        assert memory.tables[table].equals(expected.tables[table])
    parts = cc.audit(paths["train"], test=paths["test"], only=ONLY, memory="1KB")
    assert "parts" in parts.provenance.engine
    same_cards(parts, memory, ONLY)


def test_numbers_of_texts_are_equal_where_the_texts_are_alone():
    texts = pl.Series(["b", "a", "b", "c", "d", "a", ""])
    hashes = np.array([7, 7, 7, 7, 9, 7, 3], dtype=np.uint64)
    exact = exact_hashes(hashes, texts)
    assert [[i == j for i in exact] for j in exact] == [[i == j for i in texts] for j in texts]
    # The first in the alphabet, and one that shares no hash, keep theirs.
    assert (exact[1], exact[4]) == (7, 9)
    shuffled = np.array([3, 6, 0, 5, 2, 1, 4])
    assert np.array_equal(exact_hashes(hashes[shuffled], texts.gather(shuffled)), exact[shuffled])


def test_a_new_number_is_none_that_another_text_has():
    shared = pl.DataFrame(
        {"kind": "text", "hash": [5, 5, 5], "text": ["a", "b", "c"]}, schema_overrides={"hash": pl.UInt64}
    )
    free = told_apart(shared, lambda _, hashes: np.zeros(len(hashes), bool))["new"].to_numpy()
    taken = free[1:]
    others = told_apart(shared, lambda _, hashes: np.isin(hashes, taken))["new"].to_numpy()
    assert len(np.unique(free)) == len(np.unique(others)) == 3
    assert not np.isin(others[1:], taken).any()


def test_sentences_of_both_sides_are_told_apart_together(few_hashes):
    few_hashes(2)
    frame = pl.DataFrame(
        {
            "premise": ["one", "two", "three", "four"],
            "hypothesis": ["Two", "five", "six", "One"],
            "label": list("abab"),
        }
    )
    assert sentence_components(load(frame).train).tolist() == [0, 0, 1, 0]
