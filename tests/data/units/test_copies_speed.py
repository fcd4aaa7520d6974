"""What makes the search for copies fast changes no unit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from cuecard.data.fingerprint import mixed
from cuecard.data.units import FoldedTexts, copies
from cuecard.data.units import sketches as folding
from cuecard.data.units.copies import ALIKE, LOOSELY, band_keys, in_order
from cuecard.data.units.sketches import LEAST_WORDS
from cuecard.features.style import formatting
from cuecard.stats import _native


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
    bits = _native.wide_bits(np.concatenate(sets), bounds, np.arange(300), width)
    assert bits.shape == (300, width)
    assert width > 1 or (np.bitwise_count(bits[:, 0]) <= np.diff(bounds)).all()
    for a, b in rng.integers(0, 300, (2000, 2)):
        differing = len(np.setxor1d(sets[a], sets[b]))
        apart = sum(int(part).bit_count() for part in bits[a] ^ bits[b])
        assert apart <= differing
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
    signs = [bool(folding.folded(pl.Series([text], dtype=pl.String))[3][0]) for text in texts]
    assert folding.folded(texts)[3].tolist() == signs


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
    signs = folding.folded(texts)[3]
    assert (formatting(texts, signs) > 0).tolist() == [True] * len(marks) + [False] * len(plain)
    assert formatting(texts, signs).tolist() == formatting(texts).tolist()
    assert not signs[len(marks) :][[0, 2]].any()


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
    series = pl.Series([" ".join(words) for words in texts])
    whole, words, starts, _ = folding.folded(series)
    sets = [set(words[a:b].tolist()) for a, b in pairwise(starts.tolist())]
    expected = plain_units(sets, whole.tolist(), band_keys(words, starts))
    units = copies(series)
    assert units.tolist() == expected
    assert 150 < units.max() + 1 < len(np.unique(whole))


@pytest.mark.parametrize(("bands", "height"), [(10, 3), (1, 1), (5, 2)])
def test_numbers_of_bands_are_those_of_the_least_hashes(bands: int, height: int) -> None:
    rng = np.random.default_rng(bands)
    sizes = np.array([0, 1, 40, 7, 300])
    starts = np.append(0, np.cumsum(sizes))
    words = rng.integers(0, 2**64 - 1, starts[-1], dtype=np.uint64)
    golden, every = 0x9E3779B97F4A7C15, 2**64

    def key(own: np.ndarray, band: int) -> int:
        number = 0xCBF29CE484222325
        for layer in range(band * height, (band + 1) * height):
            salt = (layer + 1) * golden % every
            hashes = [int(value) for value in mixed(own ^ np.uint64(salt))]
            least = min(hashes, default=(every - 1) ^ ((every - 1) >> 31))
            number = (number ^ least) * 0x100000001B3 % every
        return number

    keys = band_keys(words, starts, bands=bands, height=height)
    for i, (start, end) in enumerate(pairwise(starts.tolist())):
        assert [int(one) for one in keys[:, i]] == [key(words[start:end], band) for band in range(bands)]


@pytest.mark.parametrize("width", [1, 4])
def test_bits_of_texts_and_runs_are_those_of_their_words(width: int) -> None:
    rng = np.random.default_rng(width)
    sizes = rng.integers(0, 50, 30)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    words = rng.integers(0, 2**64 - 1, starts[-1], dtype=np.uint64)
    runs = np.array([0, 1, 5, 30])
    keys, run_keys = (np.empty((10, n), dtype=np.uint64) for n in (30, 3))
    bits, run_bits = (np.empty((n, width), dtype=np.uint64) for n in (30, 3))
    _native.band_keys(words, starts, runs, 3, keys, run_keys, bits, run_bits, 0, 0, 0)
    np.testing.assert_array_equal(bits, _native.wide_bits(words, starts, np.arange(30), width))
    np.testing.assert_array_equal(run_bits, _native.wide_bits(words, starts[runs], np.arange(3), width))
    np.testing.assert_array_equal(run_keys, band_keys(words, starts[runs]))
    of_long = np.zeros_like(keys)
    _native.band_keys(words, starts, runs[:1], 3, of_long, run_keys, bits, run_bits, 0, 0, 6)
    np.testing.assert_array_equal(of_long, np.where(np.diff(starts) >= 6, keys, 0))


@pytest.mark.parametrize("n", [0, 1, 2, 5_000])
def test_repeated_keys_are_all_found_and_hardly_any_other(n: int) -> None:
    rng = np.random.default_rng(n)
    keys = rng.integers(0, 2**64 - 1, n, dtype=np.uint64)[rng.integers(0, max(n, 1), n)]
    places = _native.repeated(keys)
    _, code, times = np.unique(keys, return_inverse=True, return_counts=True)
    more = np.flatnonzero(times[code] > 1) if n else np.empty(0, dtype=np.int64)
    assert np.isin(more, places).all()
    assert (np.diff(places) > 0).all()
    assert len(places) <= len(more) + n / 50


def test_texts_that_are_read_in_parts_have_the_same_words(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series(
        ["Is it red?", "Is it red?", "naïve ＡＢＣ", "", None, "日本 3", "a b c d", "½ ﬃ ﷺ"] * 4
    )
    assert len(texts) < folding.ROWS_AT_ONCE
    whole = folding.folded(texts)
    monkeypatch.setattr(folding, "ROWS_AT_ONCE", 3)
    for ours, theirs in zip(folding.folded(texts), whole, strict=True):
        assert ours.tolist() == theirs.tolist()
