from __future__ import annotations

import polars as pl

from cuecard.audits.overview_view import length_bins


def test_a_bin_is_shown_whole_and_the_share_beyond_it_is_exact() -> None:
    lengths = pl.DataFrame({"tokens": [*range(1, 101), 5000], "count": [10] * 100 + [4]})
    bins = length_bins(lengths)
    assert bins.last % bins.width == bins.width - 1
    assert bins.last >= 100
    assert bins.cut == 4 / 1004


def test_nothing_is_cut_where_all_texts_are_about_as_long() -> None:
    assert length_bins(pl.DataFrame({"tokens": [3, 4], "count": [50, 50]})).cut == 0.0
