from __future__ import annotations

from typing import get_args

import numpy as np
import polars as pl
import pytest

from cuecard.data import Instances
from cuecard.text import SCOPES, Scope, encode, tokenisers

LABELS = ("no", "yes")


def instances(premises: list[str], hypotheses: list[str]) -> Instances:
    n = len(premises)
    table = pl.DataFrame(
        {
            "example_id": [str(i) for i in range(n)],
            "position": [0] * n,
            "split": ["train"] * n,
            "premise": premises,
            "hypothesis": hypotheses,
            "label": pl.Series(["no"] * n, dtype=pl.Enum(LABELS)),
        }
    )
    return Instances(table, "pair", LABELS)


PAIRS = instances(["A man sleeps", "", "The dog"], ["A man is awake", "The dog runs", ""])


@pytest.mark.parametrize(
    ("scope", "words", "bigrams"),
    [
        ("hypothesis", ["a", "man", "is", "awake"], ["a man", "man is", "is awake"]),
        ("premise", ["a", "man", "sleeps"], ["a man", "man sleeps"]),
        (
            "both",
            ["a", "man", "sleeps", "a", "man", "is", "awake"],
            ["a man", "man sleeps", "a man", "man is", "is awake"],
        ),
    ],
)
def test_scope_chooses_the_texts_and_no_bigram_crosses_them(
    scope: Scope, words: list[str], bigrams: list[str]
) -> None:
    data = encode(PAIRS, scope=scope)
    assert data.scoped.words(0) == words
    grams = data.ngrams(2)
    assert grams.names(grams.ids[grams.offsets[0] : grams.offsets[1]]).to_list() == bigrams


@pytest.mark.parametrize("scope", SCOPES)
def test_every_instance_keeps_its_row_in_every_scope(scope: Scope) -> None:
    data = encode(PAIRS, scope=scope)
    lengths = {"hypothesis": [4, 3, 0], "premise": [3, 0, 2], "both": [7, 3, 2]}
    assert data.scoped.lengths.tolist() == lengths[scope]
    assert len(data.ngrams(2)) == len(PAIRS)


def test_premise_and_hypothesis_share_one_vocabulary() -> None:
    data = encode(PAIRS)
    assert data.premise.ids[0] == data.hypothesis.ids[0]
    assert data.vocabulary.to_list() == ["a", "man", "sleeps", "the", "dog", "is", "awake", "runs"]


def test_language_and_tokeniser_are_guessed_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tokenisers.PACKAGES, "zh", "no_such_package_here")
    chinese = instances(["他在睡觉"], ["他没有睡觉"])
    data = encode(chinese)
    assert (data.language, data.tokeniser) == ("zh", "chars")
    assert data.hypothesis.words(0) == list("他没有睡觉")
    data = encode(chinese, language="en", tokens="stubborn")
    assert (data.language, data.tokeniser) == ("en", "stubborn")


def test_scopes_are_those_of_the_type() -> None:
    assert set(SCOPES) == set(get_args(Scope))


@pytest.mark.parametrize("tokens", ["default", "stubborn", "treebank", "treebank-lemma", "chars"])
def test_rows_of_an_encoding_are_as_if_they_alone_had_been_encoded(tokens: str) -> None:
    if tokens.startswith("treebank"):
        pytest.importorskip("nltk")
    texts = ["Dogs don't run.", "ÉTÉ à Paris", "a b c", "", "the dog's cats run", "c b a, no", "Paris"]
    whole = instances(texts, texts[::-1])
    for kept in ([1, 3, 4, 6], [0, 1, 2, 3, 4, 5], [5], []):
        encode(whole, tokens=tokens, language="en")
        mask = np.isin(np.arange(len(texts)), kept)
        part = encode(whole.rows(mask), tokens=tokens, language="en")
        alone = encode(
            instances([texts[i] for i in kept], [texts[::-1][i] for i in kept]), tokens=tokens, language="en"
        )
        assert part.vocabulary.to_list() == alone.vocabulary.to_list()
        for side in ("premise", "hypothesis"):
            mine, theirs = getattr(part, side), getattr(alone, side)
            assert mine.ids.tolist() == theirs.ids.tolist()
            assert mine.offsets.tolist() == theirs.offsets.tolist()


def test_a_small_part_is_encoded_alone_and_n_grams_are_numbered_once() -> None:
    whole = instances(["a b"] * 10, [f"c{i} d" for i in range(10)])
    small = whole.rows(np.arange(10) < 3)
    assert encode(small, tokens="default").vocabulary.to_list() == ["a", "b", "c0", "d", "c1", "c2"]
    assert not whole.has_derived(("tokens", "default"))
    data = encode(whole, tokens="default")
    assert data.ngrams(2) is encode(whole, tokens="default", scope="hypothesis").ngrams(2)
    assert data.ngrams(2) is not encode(whole, tokens="default", scope="premise").ngrams(2)
