"""Texts with part of their information taken away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from cuecard.errors import UsageError
from cuecard.text.transformations import MASK, noun_types, transformed

TEXTS = pl.Series(
    ["A man is sleeping on the bench.", None, "A man is sleeping on the bench.", "", "Don't go"]
)


def test_shuffling_keeps_the_words_and_equal_texts_equal() -> None:
    shuffled = transformed(TEXTS, "shuffled_words", seed=1)
    assert sorted(shuffled[0].split()) == sorted(str(TEXTS[0]).split())
    assert shuffled[0] != TEXTS[0]
    assert shuffled[0] == shuffled[2]
    assert shuffled[1] == shuffled[3] == ""


def test_shuffling_depends_on_the_seed_only() -> None:
    assert transformed(TEXTS, "shuffled_words", seed=3).equals(transformed(TEXTS, "shuffled_words", seed=3))


def test_texts_without_spaces_lose_the_order_of_their_characters() -> None:
    shuffled = transformed(pl.Series(["他们正在公园里踢足球"]), "shuffled_words", language="zh")
    assert shuffled[0] != "他们正在公园里踢足球"
    assert sorted(shuffled[0]) == sorted("他们正在公园里踢足球")


def test_function_words_are_hidden_and_nothing_else() -> None:
    hidden = transformed(TEXTS, "masked_function_words")
    assert hidden[0] == f"{MASK} man {MASK} sleeping {MASK} {MASK} bench."
    assert hidden[4] == f"{MASK} go"


def test_nouns_are_hidden() -> None:
    texts = pl.Series(
        ["the man is tall", "a man sits on the old bench", "the old bench is wet", "she sleeps"]
    )
    assert transformed(texts, "masked_nouns")[1] == f"a {MASK} sits on the old {MASK}"


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("masked_verbs", "sleeps"),
        ("masked_adjectives", "beautiful"),
        ("masked_adverbs", "quietly"),
        ("masked_negations", "isn't"),
    ],
)
def test_one_class_of_words_is_hidden(name: str, hidden: str) -> None:
    text = "The beautiful dog sleeps quietly and isn't behind the house"
    [changed] = transformed(pl.Series([text]), name)
    assert hidden not in changed
    assert {"dog", "house", "The", "behind"} <= set(changed.split())


def test_what_knows_english_only_says_so() -> None:
    with pytest.raises(UsageError, match="only applies to English"):
        transformed(pl.Series(["哈"]), "masked_nouns", language="zh")


def test_unknown_transformations_are_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="masked_nouns"):
        transformed(TEXTS, "masked_noun")


def test_nouns_agree_with_a_parser(oracle: Callable[[str], Path]) -> None:
    table = pl.read_parquet(oracle("spacy_en_annotations.parquet"))
    nouns = noun_types(table["text"])
    tokens = table.select(pl.col("tokens").explode(), tag=pl.col("tags").explode()).filter(
        pl.col("tokens").str.contains(r"\p{L}")
    )
    ours = tokens["tokens"].str.to_lowercase().is_in(sorted(nouns)).to_numpy()
    parsers = tokens["tag"].str.starts_with("NN").to_numpy()
    agreed = (ours == parsers).mean()
    by_chance = ours.mean() * parsers.mean() + (1 - ours.mean()) * (1 - parsers.mean())
    assert (agreed - by_chance) / (1 - by_chance) > 0.78
    assert parsers[ours].mean() > 0.94
