from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.text import encode, presence_counts, stop_words


def test_function_words_are_stop_words_and_content_words_are_not() -> None:
    stops = stop_words("en")
    assert {"the", "is", "not", "don't", "n't", "with"} <= stops
    assert not {"sleeping", "man", "nobody", "never", "nothing", "because_of"} & stops
    assert all(word == word.lower() for word in stops)


def test_a_language_without_a_list_is_named() -> None:
    with pytest.raises(UsageError, match="'xx'"):
        stop_words("xx")


def test_strongest_words_of_snli_are_those_stubborn_lists(
    real_data: Callable[[str], Path], oracle: Callable[[str], Path]
) -> None:
    published = json.loads(oracle("stubborn_A1_wordlists.json").read_text())
    table = pl.read_parquet(real_data("snli/train_partial.parquet")).select("premise", "hypothesis", "label")
    labels = ("entailment", "neutral", "contradiction")
    table = table.with_columns(
        pl.col("label").cast(pl.Enum(labels)),
        example_id=pl.lit("x"),
        position=pl.lit(0),
        split=pl.lit("train"),
    )
    data = encode(Instances(table, "pair", labels), tokens="stubborn", scope="both")
    counts = presence_counts(data.scoped, data.instances.label_codes, 3)
    n = counts.sum(axis=1)
    priors = np.bincount(data.instances.label_codes) / len(table)
    allowed = ~data.vocabulary.is_in(list(stop_words("en"))).to_numpy()
    for label, prior, k in zip(labels, priors, counts.T, strict=True):
        z = (k / n - prior) / np.sqrt(prior * (1 - prior) / n)
        strongest = np.argsort(np.where(allowed, -z, np.inf))[:50]
        assert len(set(data.vocabulary.gather(strongest)) & set(published[label])) >= 40


WORDS = {
    "de": "nicht", "fr": "une", "sw": "katika", "zh": "的", "fa": "است", "ar": "من", "ru": "не", "hi": "है", "ko": "는",
    "el": "και", "bg": "не", "ur": "ہے", "th": "ที่", "ja": "の",
}  # fmt: skip


@pytest.mark.parametrize(("language", "word"), WORDS.items())
def test_the_languages_of_multilingual_sets_have_stop_words(language, word):
    assert word in stop_words(language)


def test_a_language_without_a_list_is_answered_with_those_that_have_one():
    with pytest.raises(UsageError, match=r"only for ar, .*--language"):
        stop_words("ka")
