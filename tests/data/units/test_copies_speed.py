"""What makes the search for copies fast changes no unit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.data.units import FoldedTexts, _folding, _kernels
from cuecard.data.units.copies import in_order
from cuecard.text.style import formatting


@pytest.mark.parametrize("codes", [[3, 1, 3, 0, 1, 5], [0], [2, 2, 2], [7, 900, 7]])
def test_small_and_large_codes_are_numbered_alike_by_first_occurrence(codes: list[int]) -> None:
    numbers: dict[int, int] = {}
    expected = [numbers.setdefault(code, len(numbers)) for code in codes]
    assert in_order(np.array(codes, dtype=np.int64)).tolist() == expected
    assert in_order(np.array(codes, dtype=np.float64)).tolist() == expected


def test_bits_never_rule_out_texts_that_are_alike() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, 40, dtype=np.uint64)
    sets = [np.sort(rng.choice(words, rng.integers(6, 20), replace=False)) for _ in range(300)]
    bounds = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
    bits, at_least = _kernels.word_bits(np.concatenate(sets), bounds, np.arange(300))
    assert (at_least <= np.diff(bounds)).all()
    for a, b in rng.integers(0, 300, (2000, 2)):
        differing = len(np.setxor1d(sets[a], sets[b]))
        assert bin(int(bits[a] ^ bits[b])).count("1") <= differing
    assert len(np.unique(bits)) > 250


def test_a_text_that_repeats_the_one_before_has_its_words_and_hash() -> None:
    texts = pl.Series(
        ["Is it red?", "Is it red?", "Is it red!", "is it rod?", "", "", "日本 3", "日本 3", None]
    )
    together, alone = FoldedTexts(), FoldedTexts()
    together.add(texts)
    for text in texts:
        alone.add(pl.Series([text], dtype=pl.String))
    for ours, theirs in zip(together.arrays(), alone.arrays(), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert together.signs.tolist() == alone.signs.tolist()


def test_texts_without_signs_have_no_formatting() -> None:
    marks = [
        "# Title",
        "a **b** c",
        "__b__",
        "- x",
        "+ x",
        "* x",
        "• x",
        "12) x",
        "1. x",
        "`z`",
        "z 🙂",
        "```\n```",
    ]
    plain = ["Nothing, here; (really): \"no\" 'marks'!", "", "two\nlines.\n\tmore"]
    texts = pl.Series([*marks, *plain])
    folded = FoldedTexts()
    folded.add(texts)
    assert (formatting(texts, folded.signs) > 0).tolist() == [True] * len(marks) + [False] * len(plain)
    assert formatting(texts, folded.signs).tolist() == formatting(texts).tolist()
    assert not folded.signs[len(marks) :][[0, 2]].any()


def test_a_hash_mixed_in_steps_is_the_hash_mixed_at_once() -> None:
    a, b = np.random.default_rng(0).integers(0, 2**63, (2, 50), dtype=np.uint64)
    for word, salt in zip(a, b, strict=True):
        begun = np.uint64(_folding.begin_mixed(word)) ^ np.uint64(_folding.begin_mixed(salt))
        inner = np.uint64(_folding.inner_mixed(begun))
        assert _folding.end_mixed(inner) == _folding.mixed(word ^ salt)
        assert _folding.end_mixed(inner) >> 33 == int(inner) >> 33
