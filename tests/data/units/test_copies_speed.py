"""What makes the search for copies fast changes no unit."""

from __future__ import annotations

import importlib
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from cuecard.data.units import FoldedTexts, _folding, _kernels
from cuecard.data.units.copies import ALIKE, LEAST_WORDS, LOOSELY, ROWS_AT_ONCE, band_keys, in_order
from cuecard.text.style import formatting

copies_module = importlib.import_module("cuecard.data.units.copies")


@pytest.mark.parametrize("codes", [[3, 1, 3, 0, 1, 5], [0], [2, 2, 2], [7, 900, 7]])
def test_small_and_large_codes_are_numbered_alike_by_first_occurrence(codes: list[int]) -> None:
    numbers: dict[int, int] = {}
    expected = [numbers.setdefault(code, len(numbers)) for code in codes]
    assert in_order(np.array(codes, dtype=np.int64)).tolist() == expected
    assert in_order(np.array(codes, dtype=np.float64)).tolist() == expected


@pytest.mark.parametrize("width", [1, 2, 8])
def test_bits_never_rule_out_texts_that_are_alike(width: int) -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, 40, dtype=np.uint64)
    sets = [np.sort(rng.choice(words, rng.integers(6, 20), replace=False)) for _ in range(300)]
    bounds = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
    narrow, at_least = _kernels.word_bits(np.concatenate(sets), bounds, np.arange(300))
    bits = _kernels.wide_bits(np.concatenate(sets), bounds, np.arange(300), width)
    assert bits.shape == (300, width)
    assert width > 1 or bits[:, 0].tolist() == narrow.tolist()
    assert (at_least <= np.diff(bounds)).all()
    for a, b in rng.integers(0, 300, (2000, 2)):
        differing = len(np.setxor1d(sets[a], sets[b]))
        apart = sum(int(part).bit_count() for part in bits[a] ^ bits[b])
        assert apart <= differing
        assert _kernels.differ_by_more(bits, a, b, apart - 0.5)
        assert not _kernels.differ_by_more(bits, a, b, apart)
    assert len(np.unique(bits, axis=0)) > 250


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


def plain_units(texts: list[set[int]], orders: list[int], keys: np.ndarray) -> list[int]:
    """Return units by the definition, text by text: in the order of their hashes, band by band, key by key."""
    first_with: dict[int, int] = {}
    for i, order in enumerate(orders):
        first_with.setdefault(order, i)
    ranked = [
        first_with[order] for order in sorted(first_with) if len(texts[first_with[order]]) >= LEAST_WORDS
    ]
    leader = {text: text for text in ranked}
    rank = {text: place for place, text in enumerate(ranked)}

    def lead(text: int) -> int:
        return text if leader[text] == text else lead(leader[text])

    def share(a: int, b: int) -> float:
        return len(texts[a] & texts[b]) / len(texts[a] | texts[b])

    for band in keys:
        buckets: dict[int, list[int]] = {}
        for text in ranked:
            buckets.setdefault(int(band[text]), []).append(text)
        for _, bucket in sorted(buckets.items()):
            for place in range(1, len(bucket)):
                for other in (bucket[0], bucket[place - 1]):
                    mine, theirs = sorted((lead(bucket[place]), lead(other)), key=rank.__getitem__)
                    if mine == theirs:
                        break
                    if share(bucket[place], other) >= ALIKE and share(mine, theirs) >= LOOSELY:
                        leader[theirs] = mine
                        break
    led = [first_with[order] for order in orders]
    return in_order(np.array([lead(text) if text in leader else text for text in led])).tolist()


@pytest.mark.parametrize("length", [12, 150])
def test_units_are_those_of_comparing_text_by_text(length: int) -> None:
    rng = np.random.default_rng(length)
    vocabulary = [f"w{i}" for i in range(400)]
    texts = [list(rng.choice(vocabulary, rng.integers(2, length))) for _ in range(150)]
    for _ in range(450):  # copies, and near copies of originals and of near copies
        words = np.array(texts[rng.integers(len(texts))])
        changed = rng.random(len(words)) < rng.choice([0, 0.05, 0.1, 0.15, 0.2, 0.3])
        texts.append(list(np.where(changed, rng.choice(vocabulary, len(words)), words)))
    folded = FoldedTexts()
    folded.add(pl.Series([" ".join(words) for words in texts]))
    whole, words, starts = folded.arrays()
    sets = [set(words[a:b].tolist()) for a, b in pairwise(starts.tolist())]
    expected = plain_units(sets, whole.tolist(), band_keys(words, starts)[0])
    units = folded.copies()
    assert units.tolist() == expected
    assert 150 < units.max() + 1 < len(np.unique(whole))


def test_texts_that_are_read_in_parts_have_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series(
        ["Is it red?", "Is it red?", "naïve ＡＢＣ", "", None, "日本 3", "a b c d", "½ ﬃ ﷺ"] * 4
    )
    whole = FoldedTexts()
    whole.add(texts)
    monkeypatch.setattr(copies_module, "ROWS_AT_ONCE", 3)
    assert len(texts) < ROWS_AT_ONCE
    parts = FoldedTexts()
    parts.add(texts)
    for ours, theirs in zip(parts.arrays(), whole.arrays(), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert parts.signs.tolist() == whole.signs.tolist()
